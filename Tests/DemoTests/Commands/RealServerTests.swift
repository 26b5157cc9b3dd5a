// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The commands of the tutorials' programs against servers that other people wrote: each row of the table of what can go
// wrong, with what is printed and how it ends.

import Glibc
import Testing

@Suite("send, receive and connect against real servers", .timeLimit(.minutes(3)))
struct RealServerTests {
  /// Runs a command against `tcpd.py` in a mode, and gives the server a moment to say what it got.
  private func run(
    _ command: String, _ mode: String, _ more: String..., input: [UInt8] = [], until said: String? = nil
  ) throws -> (result: DemoResult, server: String) {
    let (server, port) = try RealServers.python(mode)
    defer { server.kill() }
    let process = DemoProcess([command, "127.0.0.1", port] + more, keepsInput: true)
    process.writeInBackground(input)
    process.closeInput()
    let result = process.wait()
    if let said { try server.collect { $0.contains(said) } }
    return (result, server.printed)
  }

  private func error(of result: DemoResult) -> String {
    result.errorLines.last { $0.hasPrefix("error: ") } ?? "none"
  }

  private static let broken = [
    "error: POSIX 32 Broken pipe (", "error: POSIX 104 Connection reset by peer (",
  ]
  private static let bigCount = 20_000_000

  private func bigFile(_ folder: TemporaryFolder) throws -> String {
    try TextFile.write(
      [UInt8](repeating: UInt8(ascii: "b"), count: Self.bigCount), to: folder.file("big.bin"))
    return folder.file("big.bin")
  }

  // MARK: - send

  @Test("send: a text and a zero byte, and every event of it")
  func send() throws {
    let (result, _) = try run(
      "send", "sink", "--text", "Hello Server!", "--nul", "--events", until: "got 14 b'Hello Server!\\x00'\n")
    #expect(result.code == 0 && result.output.isEmpty, "\(result.errorText)")
    for line in ["read openCompleted", "write openCompleted", "write canAcceptBytes", "write close"] {
      #expect(result.errorLines.count { $0 == line } == 1, "\(line) in \(result.errorText)")
    }
  }

  @Test("send: twenty million bytes all arrive before the close")
  func sendFile() throws {
    let folder = TemporaryFolder()
    let (result, _) = try run(
      "send", "sink", "--file", try bigFile(folder), until: "got \(Self.bigCount) b'bbbb")
    #expect(result.code == 0, "\(result.errorText)")
  }

  @Test("send: a server that does not read ends in the time limit, and it is told how much was taken")
  func sendUnread() throws {
    let folder = TemporaryFolder()
    let (result, _) = try run("send", "silent", "--file", try bigFile(folder), "--timeout", "1")
    #expect(result.code == 6, "\(result.errorText)")
    let parts = error(of: result).split(separator: " ")
    let taken = parts.firstIndex(of: "taken").flatMap { Int(parts[$0 + 1]) } ?? 0
    #expect(taken > 0 && taken < Self.bigCount, "\(result.errorText)")
    #expect(error(of: result).hasSuffix("of \(Self.bigCount) bytes"), "\(result.errorText)")
  }

  @Test("send: a server that closes at once breaks the connection, and no signal ends the program")
  func sendEarly() throws {
    let folder = TemporaryFolder()
    let (result, _) = try run("send", "early", "--file", try bigFile(folder))
    #expect(result.code == 3 && result.signal == nil, "\(result.errorText)")
    #expect(Self.broken.contains { error(of: result).hasPrefix($0) }, "\(result.errorText)")
  }

  @Test("send: pressed fifty times fast, fifty connections, and no descriptor left")
  func sendOften() throws {
    let (server, port) = try RealServers.python("sink")
    let result = DemoProcess.run("send", "127.0.0.1", port, "--count", "50", "--json")
    #expect(result.code == 0 && result.text.contains(#""connections":50"#), "\(result.errorText)")
    #expect(result.text.contains(#""socketsLeft":0"#), "\(result.text)")
    try server.collect { $0.split(separator: "\n").count { $0 == "got 13 b'Hello Server!'" } == 50 }
  }

  // MARK: - receive

  @Test("receive: the text, then the end")
  func receive() throws {
    let (result, _) = try run("receive", "hello", "--events")
    #expect(result.code == 0 && result.text == "receive: Hello from server 你好\n", "\(result.errorText)")
    #expect(result.errorLines.contains("read endEncountered"))
    #expect(result.errorLines.last == "end, 25 bytes")
  }

  @Test(
    "receive: characters stay whole, and what is none has the form that was chosen",
    arguments: [
      ("split", [], "receive: héllo 你好\n"), ("badutf8", [], "receive: ok \u{FFFD}\u{FFFD} bad\n"),
      ("badutf8", ["--hex"], "receive: ok \\xFF\\xFE bad\n"),
    ] as [(String, [String], String)])
  func receiveText(_ mode: String, _ options: [String], _ expected: String) throws {
    let (server, port) = try RealServers.python(mode)
    let result = DemoProcess(["receive", "127.0.0.1", port] + options).wait()
    #expect(result.code == 0 && result.text == expected, "\(result.errorText)")
    server.kill()
  }

  @Test("receive: ten million bytes are counted")
  func receiveBig() throws {
    let (result, _) = try run("receive", "big", "--output", "/dev/null")
    #expect(result.code == 0 && result.errorLines.last == "end, 10000000 bytes", "\(result.errorText)")
  }

  @Test("receive: an early end is an end of nothing, and no error with the code 0")
  func receiveEarly() throws {
    let (result, _) = try run("receive", "early")
    #expect(result.code == 0 && result.output.isEmpty && result.errorLines == ["end, 0 bytes"])
  }

  @Test("receive: what came before a reset is shown")
  func receiveReset() throws {
    let (result, _) = try run("receive", "rst")
    #expect(result.code == 3 && result.text == "receive: partial\n", "\(result.errorText)")
    #expect(error(of: result).hasPrefix(Self.broken[1]), "\(result.errorText)")
  }

  @Test("receive: a silent server is given up")
  func receiveSilent() throws {
    let (result, _) = try run("receive", "silent", "--timeout", "0.5")
    #expect(result.code == 6 && result.output.isEmpty, "\(result.errorText)")
    #expect(error(of: result).hasPrefix("error: POSIX 110 Connection timed out ("), "\(result.errorText)")
  }

  @Test("receive, then send in the same pair: after the end the text still arrives")
  func receiveThenSend() throws {
    let (result, _) = try run("receive", "half", "--text", "after the end", until: "after FIN got 13\n")
    #expect(result.code == 0 && result.text == "receive: bye\n", "\(result.errorText)")
  }

  // MARK: - connect

  private static let said: [String: [UInt8]] = [
    "hello": Array("Hello from server 你好\n".utf8), "split": Array("héllo 你好\n".utf8),
    "badutf8": Array("ok ".utf8) + [0xFF, 0xFE] + Array(" bad\n".utf8),
    "big": [UInt8](repeating: UInt8(ascii: "x"), count: 10_000_000), "early": [],
  ]

  @Test("connect: what the server says is printed as it is", arguments: said.keys.sorted())
  func connect(_ mode: String) throws {
    let (result, _) = try run("connect", mode)
    #expect(result.code == 0 && result.output == Self.said[mode], "\(result.errorText)")
  }

  @Test("connect: the input arrives to its last byte, and the end with it")
  func connectSends() throws {
    let text = Array("Hello Server!\0".utf8)
    let small = try run("connect", "sink", input: text, until: "got 14 b'Hello Server!\\x00'\n")
    #expect(small.result.code == 0, "\(small.result.errorText)")
    let after = try run("connect", "half", input: Array(text.dropLast()), until: "after FIN got 13\n")
    #expect(after.result.code == 0 && after.result.text == "bye\n", "\(after.result.errorText)")
    let big = [UInt8](repeating: UInt8(ascii: "b"), count: Self.bigCount)
    let all = try run("connect", "sink", input: big, until: "got \(Self.bigCount) b'bbbb")
    #expect(all.result.code == 0, "\(all.result.errorText)")
  }

  @Test("connect: a reset, and a server that goes, break the connection; a silent one is given up")
  func connectBreaks() throws {
    let reset = try run("connect", "rst").result
    #expect(reset.code == 3 && reset.text == "partial", "\(reset.errorText)")
    #expect(error(of: reset).hasPrefix(Self.broken[1]), "\(reset.errorText)")
    let big = [UInt8](repeating: UInt8(ascii: "b"), count: Self.bigCount)
    let gone = try run("connect", "early", input: big).result
    #expect(gone.code == 3, "\(gone.errorText)")
    #expect(Self.broken.contains { error(of: gone).hasPrefix($0) }, "\(gone.errorText)")
    let silent = try run("connect", "silent", "--timeout", "0.5", input: Array("hello?".utf8)).result
    #expect(silent.code == 6, "\(silent.errorText)")
  }

  // MARK: - socat

  private static let data = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 8) }

  @Test("socat sends back, over TCP and over a path, what connect sends it")
  func socatEchoes() throws {
    let folder = TemporaryFolder()
    let (server, port) = try RealServers.socat("TCP", "EXEC:cat")
    let other = try RealServers.socat("UNIX", "EXEC:cat", path: folder.file("s"))
    for place in [["127.0.0.1", port], ["--unix", folder.file("s")]] {
      let process = DemoProcess(["connect"] + place, keepsInput: true)
      process.writeInBackground(Self.data)
      process.closeInput()
      let result = process.wait()
      #expect(result.code == 0 && result.output == Self.data, "\(place): \(result.errorText)")
    }
    server.kill()
    other.kill()
  }

  @Test("socat writes to a file what send sends, and receive writes to a file what socat sends")
  func socatFiles() throws {
    let folder = TemporaryFolder()
    try TextFile.write(Self.data, to: folder.file("data"))
    let (sink, sinkPort) = try RealServers.socat("-u", "TCP", "CREATE:\(folder.file("sent"))")
    let sent = DemoProcess.run("send", "127.0.0.1", sinkPort, "--file", folder.file("data"))
    #expect(sent.code == 0, "\(sent.errorText)")
    // Which it says when it has written what came before.
    try sink.collect(seconds: 30) { $0.contains(" is at EOF") }
    let isSent = try TextFile.bytes(folder.file("sent")) == Self.data
    #expect(isSent)
    let (source, sourcePort) = try RealServers.socat("-u", "OPEN:\(folder.file("data"))", "TCP")
    let received = DemoProcess.run("receive", "127.0.0.1", sourcePort, "--output", folder.file("got"))
    #expect(received.code == 0, "\(received.errorText)")
    let isReceived = try TextFile.bytes(folder.file("got")) == Self.data
    #expect(isReceived)
    sink.kill()
    source.kill()
  }
}
