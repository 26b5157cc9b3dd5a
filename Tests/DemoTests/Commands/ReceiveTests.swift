// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Glibc
import Testing

@Suite("receive", .timeLimit(.minutes(2)))
struct ReceiveTests {
  private func run(_ mode: LoopbackServer.Mode, by streams: Streams, _ more: String...) -> DemoResult {
    run(mode, streams.words + more)
  }

  private func run(_ mode: LoopbackServer.Mode, _ words: [String]) -> DemoResult {
    let server = LoopbackServer(mode)
    defer { server.stop() }
    return DemoProcess(["receive", "127.0.0.1", "\(server.port)"] + words).wait()
  }

  @Test(
    "the text is shown, then the end",
    arguments: [["--transport", "direct"], ["--transport", "bufferevent"], Streams.foundation.words])
  func hello(_ words: [String]) {
    let result = run(LoopbackServer.hello, ["--events"] + words)
    #expect(result.code == 0 && result.text == "receive: Hello from server 你好\n", "\(result.errorText)")
    #expect(result.errorLines.contains("read openCompleted"))
    #expect(result.errorLines.contains("read hasBytesAvailable 25"), "\(result.errorText)")
    #expect(result.errorLines.count { $0 == "read endEncountered" } == 1)
    #expect(result.errorLines.last == "end, 25 bytes")
  }

  @Test("every character is whole, whatever the cut", arguments: Streams.forTransfers)
  func split(_ streams: Streams) {
    let result = run(.split(Array("héllo 你好\n".utf8)), by: streams, "--events")
    #expect(result.code == 0 && result.text == "receive: héllo 你好\n", "\(result.errorText)")
    #expect(result.errorLines.count { $0.hasPrefix("read hasBytesAvailable ") } > 1)
  }

  @Test("bytes that are not UTF-8 become marks, or hex", arguments: Streams.forTransfers)
  func badText(_ streams: Streams) {
    let bytes: [UInt8] = Array("ok ".utf8) + [0xFF, 0xFE] + Array(" bad\n".utf8)
    let marks = run(.says(bytes), by: streams)
    #expect(marks.code == 0 && marks.text == "receive: ok \u{FFFD}\u{FFFD} bad\n")
    let hex = run(.says(bytes), by: streams, "--hex")
    #expect(hex.code == 0 && hex.text == "receive: ok \\xFF\\xFE bad\n")
  }

  @Test("ten million bytes are counted, and written to a file as they are", arguments: Streams.forTransfers)
  func big(_ streams: Streams) throws {
    let folder = TemporaryFolder()
    let result = run(LoopbackServer.big, by: streams, "--output", folder.file("big"), "--json")
    #expect(result.code == 0, "\(result.errorText)")
    #expect(result.text.contains(#""received":10000000"#), "\(result.text)")
    #expect(try TextFile.bytes(folder.file("big")).count == 10_000_000)
  }

  @Test(
    "a standard output that nobody reads stops the transfer, and SIGINT ends it all the same",
    arguments: Streams.forTransfers)
  func slowOutput(_ streams: Streams) {
    let server = LoopbackServer(LoopbackServer.big)
    defer { server.stop() }
    let process = DemoProcess(
      ["receive", "127.0.0.1", "\(server.port)", "--output", "-", "--events"] + streams.words)
    // Only standard error is read here, until the pipe of standard output is full and no event comes any more.
    let errors = process.collectErrors(untilQuietFor: .milliseconds(500), after: "hasBytesAvailable")
    let events = errors.split(separator: "\n").count { $0.hasPrefix("read hasBytesAvailable") }
    #expect(events > 0 && events < 100)
    process.send(signal: SIGINT)
    #expect(process.wait().status == 130)
  }

  @Test("a second SIGINT ends the program at once, whatever the main thread waits for")
  func secondInterrupt() {
    let server = LoopbackServer(LoopbackServer.big)
    defer { server.stop() }
    let process = DemoProcess(["receive", "127.0.0.1", "\(server.port)", "--output", "-", "--events"])
    _ = process.collectErrors(untilQuietFor: .milliseconds(500), after: "hasBytesAvailable")
    let started = ContinuousClock.now
    // Signals that come together are one, so this goes on until the program has taken two.
    while process.isRunning, ContinuousClock.now - started < .seconds(20) {
      process.send(signal: SIGINT)
      usleep(10_000)
    }
    #expect(ContinuousClock.now - started < .seconds(2), "the patience of the first is 2 s")
    #expect(process.wait().signal == SIGINT)
  }

  @Test(
    "when the reader of standard output goes, the program ends quietly with 141",
    arguments: Streams.forTransfers)
  func brokenPipe(_ streams: Streams) {
    let server = LoopbackServer(LoopbackServer.big)
    defer { server.stop() }
    let process = DemoProcess(["receive", "127.0.0.1", "\(server.port)", "--output", "-"] + streams.words)
    #expect(process.collect { $0.output.count > 1_000 })
    process.closeOutput()
    let result = process.wait()
    #expect(result.code == 141 && result.errors.isEmpty, "\(result.errorText)")
  }

  @Test("an early end is an end, and no error", arguments: Streams.forTransfers)
  func early(_ streams: Streams) {
    let result = run(.early, by: streams)
    #expect(result.code == 0 && result.output.isEmpty)
    #expect(result.errorLines == ["end, 0 bytes"])
  }

  @Test(
    "after a reset the bytes before it are shown",
    arguments: [["--transport", "direct"], ["--transport", "bufferevent"], Streams.foundation.words])
  func reset(_ words: [String]) {
    let result = run(.rst, words)
    #expect(result.code == 3 && result.text == "receive: partial\n", "\(result.errorText)")
    #expect(
      result.errorLines.contains { $0.hasPrefix("error: POSIX 104 Connection reset by peer (127.0.0.1:") })
  }

  @Test("a silent server is given up", arguments: Streams.forTransfers)
  func silent(_ streams: Streams) {
    let result = run(.silent, by: streams, "--timeout", "0.3")
    #expect(result.code == 6 && result.output.isEmpty)
    let error = result.errorLines.first { $0.hasPrefix("error: ") } ?? ""
    #expect(error.hasPrefix("error: POSIX 110 Connection timed out (127.0.0.1:") && error.contains(", read)"))
  }

  @Test("a text for a server that has gone is a broken connection at once", arguments: Streams.forTransfers)
  func gone(_ streams: Streams) {
    let result = run(.says(Array("bye\n".utf8)), by: streams, "--text", "too late", "--timeout", "20")
    #expect(result.code == 3, "\(result.errorText)")
    let error = result.errorLines.first { $0.hasPrefix("error: ") } ?? ""
    #expect(
      error.hasPrefix("error: POSIX 32 Broken pipe (")
        || error.hasPrefix("error: POSIX 104 Connection reset"),
      "\(error)")
  }

  @Test("after the server's end the other half still sends", arguments: Streams.forTransfers)
  func half(_ streams: Streams) {
    let server = LoopbackServer(.half)
    defer { server.stop() }
    let result = DemoProcess(
      ["receive", "127.0.0.1", "\(server.port)", "--text", "after the end", "--events"] + streams.words
    ).wait()
    #expect(result.code == 0 && result.text == "receive: bye\n", "\(result.errorText)")
    #expect(server.visits(1) == [.init(count: 13, first: Array("after the end".utf8))])
  }

  @Test("a file that cannot be written ends the command before it connects")
  func badOutput() {
    let server = LoopbackServer(LoopbackServer.hello)
    defer { server.stop() }
    let result = DemoProcess.run("receive", "127.0.0.1", "\(server.port)", "--output", "/no/such/folder/x")
    #expect(result.code == 7 && result.errorLines.count == 1, "\(result.errorText)")
    #expect(server.highest == 0)
  }

  @Test("a full disk ends the command with 7", arguments: Streams.forTransfers)
  func fullDisk(_ streams: Streams) {
    let result = run(LoopbackServer.big, by: streams, "--output", "/dev/full")
    #expect(result.code == 7)
    #expect(
      result.errorLines.contains { $0.hasPrefix("error: POSIX 28 No space left on device") },
      "\(result.errorText)")
  }

  @Test("a connection that fails leaves a file as it was, and makes none")
  func untouchedOutput() throws {
    let (fd, port) = SocketCalls.refusingPort()
    defer { close(fd) }
    let folder = TemporaryFolder()
    try TextFile.write("before", to: folder.file("old"))
    for name in ["old", "new"] {
      #expect(DemoProcess.run("receive", "127.0.0.1", "\(port)", "--output", folder.file(name)).code == 2)
    }
    #expect(try TextFile.read(folder.file("old")) == "before")
    #expect(throws: TextFile.Failure.self) { try TextFile.read(folder.file("new")) }
  }

  @Test("the summary in JSON is all there is on standard output", arguments: Streams.forTransfers)
  func json(_ streams: Streams) {
    let result = run(LoopbackServer.hello, by: streams, "--json")
    #expect(result.code == 0 && result.text.hasPrefix(#"{"command":"receive","target":"127.0.0.1:"#))
    #expect(result.text.split(separator: "\n").count == 1 && result.errors.isEmpty, "\(result.errorText)")
    #expect(result.text.contains(#""status":0"#) && result.text.contains(#""received":25"#))
    #expect(result.text.contains(#""error":null"#) && result.text.contains(#""socketsLeft":0"#))
    #expect(DemoProcess.run("receive", "h", "1", "--json", "--output", "-").code == 64)
  }

  @Test("SIGINT while nothing comes ends as a shell expects", arguments: Streams.forTransfers)
  func interrupt(_ streams: Streams) {
    let server = LoopbackServer(.silent)
    defer { server.stop() }
    let process = DemoProcess(["receive", "127.0.0.1", "\(server.port)", "--events"] + streams.words)
    #expect(process.collect { $0.errorText.contains("read openCompleted\n") })
    process.send(signal: SIGINT)
    let result = process.wait()
    #expect(
      result.signal == SIGINT && result.errorLines.contains("interrupted, 0 bytes"), "\(result.errorText)")
  }
}
