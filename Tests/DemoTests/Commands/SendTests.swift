// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Glibc
import Testing

@Suite("send", .timeLimit(.minutes(2)))
struct SendTests {
  private func run(_ server: LoopbackServer, by streams: Streams = .own, _ more: String...) -> DemoResult {
    DemoProcess(["send", "127.0.0.1", "\(server.port)"] + streams.words + more).wait()
  }

  private func bigFile(_ folder: TemporaryFolder) throws -> (path: String, count: Int) {
    let path = folder.file("big.bin")
    let count = 20_000_000
    try TextFile.write([UInt8](repeating: UInt8(ascii: "b"), count: count), to: path)
    return (path, count)
  }

  @Test(
    "a text arrives with its zero byte, and the events are told once each", arguments: Streams.forTransfers)
  func text(_ streams: Streams) {
    let server = LoopbackServer(.sink)
    defer { server.stop() }
    let result = run(server, by: streams, "--text", "Hello Server!", "--nul", "--events")
    #expect(result.code == 0 && result.output.isEmpty, "\(result.errorText)")
    #expect(server.visits(1) == [.init(count: 14, first: Array("Hello Server!\0".utf8))])
    for line in ["read openCompleted", "write openCompleted", "write canAcceptBytes", "write close"] {
      #expect(result.errorLines.count { $0 == line } == 1, "\(line) in \(result.errorText)")
    }
    #expect(result.errorLines.last?.hasPrefix("sent 14 bytes in ") == true)
  }

  @Test(
    "without a text the seed's own greeting is sent, and an empty text is nothing",
    arguments: Streams.forTransfers)
  func defaults(_ streams: Streams) {
    let server = LoopbackServer(.sink)
    defer { server.stop() }
    #expect(run(server, by: streams).code == 0)
    #expect(server.visits(1).first?.first == Array("Hello Server!".utf8))
    #expect(run(server, by: streams, "--text", "").code == 0)
    #expect(server.visits(2).last?.count == 0)
  }

  @Test(
    "of a file every byte arrives",
    arguments: [["--transport", "direct"], ["--transport", "bufferevent"], Streams.foundation.words])
  func file(_ words: [String]) throws {
    let folder = TemporaryFolder()
    let (path, count) = try bigFile(folder)
    let server = LoopbackServer(.sink)
    defer { server.stop() }
    let result = DemoProcess(["send", "127.0.0.1", "\(server.port)", "--file", path, "--json"] + words).wait()
    #expect(result.code == 0, "\(result.errorText)")
    #expect(server.visits(1).first?.count == count)
    #expect(
      result.text.contains(#""sent":20000000"#) && result.text.contains(#""socketsLeft":0"#), "\(result.text)"
    )
  }

  @Test(
    "a server that does not read is given up, and how much was taken is told", arguments: Streams.forTransfers
  )
  func noReader(_ streams: Streams) throws {
    let folder = TemporaryFolder()
    let (path, _) = try bigFile(folder)
    let server = LoopbackServer(.silent)
    defer { server.stop() }
    let result = run(server, by: streams, "--file", path, "--timeout", "0.5")
    #expect(result.code == 6)
    let error = result.errorLines.first { $0.hasPrefix("error: ") } ?? ""
    #expect(
      error.hasPrefix("error: POSIX 110 Connection timed out (127.0.0.1:\(server.port), write): taken "))
    #expect(error.hasSuffix(" of 20000000 bytes"), "\(error)")
  }

  @Test("a server that closes early breaks the connection, without a signal", arguments: Streams.forTransfers)
  func early(_ streams: Streams) throws {
    let folder = TemporaryFolder()
    let (path, _) = try bigFile(folder)
    let server = LoopbackServer(.early)
    defer { server.stop() }
    let result = run(server, by: streams, "--file", path)
    #expect(result.code == 3 && result.signal == nil, "\(result.errorText)")
    let error = result.errorLines.first { $0.hasPrefix("error: ") } ?? ""
    let isExpected =
      error.hasPrefix("error: POSIX 32 Broken pipe (") || error.hasPrefix("error: POSIX 104 Connection reset")
    #expect(isExpected, "\(result.errorText)")
  }

  @Test("fifty at once are fifty connections, and no socket is left", arguments: Streams.forTransfers)
  func count(_ streams: Streams) {
    let server = LoopbackServer(.sink)
    defer { server.stop() }
    let result = run(server, by: streams, "--count", "50", "--nul", "--json")
    #expect(result.code == 0, "\(result.errorText)")
    let visits = server.visits(50)
    #expect(visits.count == 50 && visits.allSatisfy { $0.count == 14 })
    #expect(
      result.text.contains(#""connections":50"#) && result.text.contains(#""sent":700"#), "\(result.text)")
    #expect(result.text.contains(#""socketsLeft":0"#), "\(result.text)")
  }

  @Test("--receive prints what comes back", arguments: Streams.forTransfers)
  func echo(_ streams: Streams) {
    let server = LoopbackServer(.echo)
    defer { server.stop() }
    let result = run(server, by: streams, "--text", "to and fro 你好", "--receive")
    #expect(result.code == 0 && result.text == "to and fro 你好\n", "\(result.errorText)")
  }

  @Test("a large file comes back whole while it is still being sent", arguments: Streams.forTransfers)
  func echoFile(_ streams: Streams) throws {
    let folder = TemporaryFolder()
    let (path, count) = try bigFile(folder)
    let server = LoopbackServer(.echo)
    defer { server.stop() }
    let result = run(server, by: streams, "--file", path, "--receive")
    #expect(result.code == 0, "\(result.errorText)")
    // The line end is added, since the file has none.
    #expect(result.output.count == count + 1)
  }

  @Test("standard input is sent to its end", arguments: Streams.forTransfers)
  func standardInput(_ streams: Streams) {
    let server = LoopbackServer(.sink)
    defer { server.stop() }
    let process = DemoProcess(
      ["send", "127.0.0.1", "\(server.port)", "--file", "-"] + streams.words, keepsInput: true)
    process.write("one ")
    process.write("two")
    process.closeInput()
    #expect(process.wait().code == 0)
    #expect(server.visits(1) == [.init(count: 7, first: Array("one two".utf8))])
  }

  @Test("a Unix-domain socket works like a port", arguments: Streams.forTransfers)
  func unix(_ streams: Streams) {
    let folder = TemporaryFolder()
    let server = LoopbackServer(.sink, path: folder.file("s"))
    defer { server.stop() }
    let result = DemoProcess(["send", "--unix", folder.file("s"), "--text", "over a path"] + streams.words)
      .wait()
    #expect(result.code == 0, "\(result.errorText)")
    #expect(server.visits(1).first?.first == Array("over a path".utf8))
  }

  @Test("a file that cannot be read ends the command before it connects")
  func missingFile() {
    let server = LoopbackServer(.sink)
    defer { server.stop() }
    let result = run(server, "--file", "/no/such/file")
    #expect(result.code == 7)
    #expect(
      result.errorLines == [
        "error: POSIX 2 No such file or directory (127.0.0.1:\(server.port), read): /no/such/file"
      ])
    #expect(run(server, "--file", "/tmp").code == 7)
    #expect(run(server, "--text", "last").code == 0)
    #expect(server.visits(1).count == 1)
  }

  @Test("options that exclude each other are wrong arguments")
  func exclusive() {
    #expect(DemoProcess.run("send", "h", "1", "--text", "a", "--file", "b").code == 64)
    #expect(DemoProcess.run("send", "h", "1", "--count", "2", "--file", "-").code == 64)
    #expect(DemoProcess.run("send", "h", "1", "--count", "2", "--receive").code == 64)
  }

  @Test(
    "SIGINT closes everything, and ends the program as a shell expects", arguments: Streams.forTransfers,
    [SIGINT, SIGTERM])
  func interrupt(_ streams: Streams, _ number: Int32) throws {
    let folder = TemporaryFolder()
    let (path, _) = try bigFile(folder)
    let server = LoopbackServer(.silent)
    defer { server.stop() }
    let process = DemoProcess(
      ["send", "127.0.0.1", "\(server.port)", "--file", path, "--events"] + streams.words)
    #expect(process.collect { $0.errorText.contains("write canAcceptBytes\n") })
    process.send(signal: number)
    let result = process.wait()
    #expect(result.signal == number && result.status == 128 + number, "\(result.errorText)")
    #expect(result.errorLines.contains { $0.hasPrefix("interrupted, ") }, "\(result.errorText)")
  }

  @Test("the progress line is drawn, ends erased, and is in ASCII without a UTF-8 locale")
  func progress() throws {
    let folder = TemporaryFolder()
    let (path, _) = try bigFile(folder)
    let server = LoopbackServer(.silent)
    defer { server.stop() }
    let result = run(server, "--file", path, "--timeout", "1", "--progress", "always")
    #expect(result.errorText.contains("\r\u{1B}[Kbig.bin  "), "\(result.errorText)")
    #expect(result.errorText.contains(" of 19.1 MiB"))
    #expect(result.errorText.contains("\r\u{1B}[Kerror: POSIX 110"))
    #expect(result.errors.allSatisfy { $0 < 0x80 })
    #expect(!run(server, "--file", path, "--timeout", "0.5", "--progress", "never").errorText.contains("\r"))
  }

  @Test(
    "what Foundation has no place for is refused", arguments: ["send", "receive"],
    ["--resolve=a:127.0.0.1", "--transport=bufferevent"])
  func ownOnly(_ command: String, _ option: String) {
    let result = DemoProcess.run(command, "127.0.0.1", "80", "--foundation", option)
    #expect(result.code == 64 && result.errorLines.count == 3, "\(result.errorText)")
    #expect(result.errorLines.first?.contains("does not go with --foundation") == true, "\(result.errorText)")
  }
}
