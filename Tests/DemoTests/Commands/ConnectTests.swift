// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Glibc
import Testing

@Suite("connect", .timeLimit(.minutes(2)))
struct ConnectTests {
  private func start(
    _ server: LoopbackServer, _ more: String..., inputPath: String? = nil, inputBlocks: Bool = true
  ) -> DemoProcess {
    DemoProcess(
      ["connect", "127.0.0.1", "\(server.port)"] + more, keepsInput: true, inputPath: inputPath,
      inputBlocks: inputBlocks)
  }

  /// Every value of a byte, in no simple order.
  private func binary(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 8) }
  }

  // MARK: - Bytes

  @Test(
    "five million bytes go there and come back at the same time, each as it was",
    arguments: ["direct", "bufferevent"])
  func bothWays(_ transport: String) {
    let server = LoopbackServer(.echo)
    defer { server.stop() }
    let process = start(server, "--transport", transport)
    let bytes = binary(5_000_000)
    process.writeInBackground(bytes)
    process.closeInput()
    let result = process.wait()
    #expect(result.code == 0 && result.output == bytes, "\(result.output.count) bytes, \(result.errorText)")
    #expect(
      result.errorLines.last?.hasPrefix("sent 5000000 bytes, received 5000000 bytes in ") == true,
      "\(result.errorText)")
  }

  @Test("a conversation goes on line by line, each answer as soon as it comes")
  func conversation() {
    let server = LoopbackServer(.echo)
    defer { server.stop() }
    let process = start(server)
    var expected = ""
    for line in ["one\n", "zwei\n", "三", "\n"] {
      process.write(line)
      expected += line
      #expect(process.collect { $0.text == expected }, "\(process.outputSoFar)")
    }
    process.closeInput()
    #expect(process.wait().code == 0)
  }

  @Test("standard input may be a file, an empty one too, and may not block")
  func kindsOfInput() throws {
    let folder = TemporaryFolder()
    let server = LoopbackServer(.echo)
    defer { server.stop() }
    let bytes = binary(300_000)
    try TextFile.write(bytes, to: folder.file("in"))
    let fromFile = start(server, inputPath: folder.file("in")).wait()
    #expect(fromFile.code == 0 && fromFile.output == bytes, "\(fromFile.errorText)")
    let fromNothing = start(server, inputPath: "/dev/null").wait()
    #expect(fromNothing.code == 0 && fromNothing.output.isEmpty, "\(fromNothing.errorText)")
    let process = start(server, inputBlocks: false)
    #expect(!process.collect(seconds: 1) { _ in false })
    try #require(process.isRunning, "\(process.errorsSoFar)")
    process.write("late")
    process.closeInput()
    let late = process.wait()
    #expect(late.code == 0 && late.text == "late", "\(late.errorText)")
  }

  @Test("a Unix-domain socket works like a port, and --events tells what happens")
  func unix() {
    let folder = TemporaryFolder()
    let server = LoopbackServer(.echo, path: folder.file("s"))
    defer { server.stop() }
    let process = DemoProcess(["connect", "--unix", folder.file("s"), "--events"], keepsInput: true)
    process.write("hello")
    #expect(process.collect { $0.text == "hello" })
    process.closeInput()
    let result = process.wait()
    #expect(result.code == 0, "\(result.errorText)")
    for line in [
      "read openCompleted", "write openCompleted", "write canAcceptBytes", "read hasBytesAvailable 5",
      "write close", "read endEncountered",
    ] {
      #expect(result.errorLines.contains(line), "\(line) in \(result.errorText)")
    }
  }

  @Test("the summary in JSON is all there is on standard output")
  func json() {
    let server = LoopbackServer(.echo)
    defer { server.stop() }
    let process = start(server, "--json")
    process.write("seven b")
    process.closeInput()
    let result = process.wait()
    #expect(result.code == 0 && result.text.hasPrefix(#"{"command":"connect","#), "\(result.errorText)")
    #expect(result.text.contains(#""sent":7,"received":7,"#) && result.text.contains(#""socketsLeft":0"#))
    #expect(result.text.split(separator: "\n").count == 1)
  }

  // MARK: - Ends

  @Test("the end of the input ends the sending side, and what comes after it is printed")
  func inputEnds() {
    let server = LoopbackServer(.answers(Array("all of it\n".utf8)))
    defer { server.stop() }
    let process = start(server)
    process.write("question")
    #expect(!process.collect(seconds: 1) { !$0.output.isEmpty }, "no end was told yet")
    process.closeInput()
    let result = process.wait()
    #expect(result.code == 0 && result.text == "all of it\n", "\(result.errorText)")
    #expect(server.visits(1) == [.init(count: 8, first: Array("question".utf8))])
  }

  @Test("after the server's end the input is still sent, to its own end")
  func serverEnds() {
    let server = LoopbackServer(.half)
    defer { server.stop() }
    let process = start(server)
    #expect(process.collect { $0.errorText.contains("end, 4 bytes; the input is still sent\n") })
    process.write("after the end")
    process.closeInput()
    let result = process.wait()
    #expect(result.code == 0 && result.text == "bye\n", "\(result.errorText)")
    #expect(server.visits(1) == [.init(count: 13, first: Array("after the end".utf8))])
  }

  @Test("a server that closes at once, with nothing to send, is an end like any other")
  func early() {
    let server = LoopbackServer(.early)
    defer { server.stop() }
    let result = start(server, inputPath: "/dev/null").wait()
    #expect(result.code == 0 && result.output.isEmpty, "\(result.errorText)")
  }

  @Test("a reset breaks the connection while the input waits, after the bytes before it")
  func reset() {
    let server = LoopbackServer(.rst)
    defer { server.stop() }
    let result = start(server).wait()
    #expect(result.code == 3 && result.text == "partial", "\(result.errorText)")
    let error = "error: POSIX 104 Connection reset by peer (127.0.0.1:\(server.port), "
    #expect(result.errorLines.last?.hasPrefix(error) == true, "\(result.errorText)")
  }

  @Test("what a server had sent before it went is printed to the last byte, though it takes no more")
  func goesWithoutReading() {
    // More than may wait to be printed, so that the rest is with the system when the writing fails.
    let answer = binary(12_000_000)
    let server = LoopbackServer(.floodsAndResets(answer))
    defer { server.stop() }
    let process = start(server)
    process.writeInBackground([UInt8](repeating: 0, count: 20_000_000))
    process.closeInput()
    let sent = server.visits(1).first?.count ?? 0
    #expect(sent > 1_048_576)
    let result = process.wait()
    #expect(result.code == 3, "\(result.errorText)")
    let isWhole = result.output == Array(answer.prefix(sent))
    #expect(isWhole, "\(result.output.count) of \(sent) bytes")
    let codes = ["POSIX 32 Broken pipe", "POSIX 104 Connection reset by peer"]
    #expect(codes.contains { result.errorText.contains("error: \($0) (") }, "\(result.errorText)")
  }

  @Test("SIGINT ends a session that waits for its user as a shell expects")
  func interrupt() {
    let server = LoopbackServer(.silent)
    defer { server.stop() }
    let process = start(server, "--events")
    #expect(process.collect { $0.errorText.contains("read openCompleted\n") })
    process.send(signal: SIGINT)
    let result = process.wait()
    #expect(result.status == 130 && result.errorLines.contains("interrupted, 0 bytes"), "\(result.errorText)")
  }

  // MARK: - Standard streams

  @Test("when the reader of standard output goes, the program ends quietly with 141")
  func brokenOutput() {
    let server = LoopbackServer(LoopbackServer.big)
    defer { server.stop() }
    let process = start(server)
    #expect(process.collect { $0.output.count > 1_000 })
    process.closeOutput()
    let result = process.wait()
    #expect(result.code == 141 && result.errors.isEmpty, "\(result.errorText)")
  }

  @Test("a standard stream that is missing, or a folder, is a local failure", arguments: [0, 1])
  func missingStream(_ number: Int32) {
    let server = LoopbackServer(LoopbackServer.hello)
    defer { server.stop() }
    let words = ["connect", "127.0.0.1", "\(server.port)"]
    let result = DemoProcess(words, without: number).wait()
    #expect(result.code == 7, "\(result.errorText)")
    #expect(result.errorLines.contains { $0.hasPrefix("error: POSIX 9 Bad file descriptor (127.0.0.1:") })
    let folder = DemoProcess(words, inputPath: "/tmp").wait()
    #expect(folder.code == 7 && folder.errorText.contains("error: POSIX 21 Is a directory ("))
  }

  @Test("a server that does not read holds the input back, for as long as it likes")
  func heldInput() {
    let server = LoopbackServer(.silent)
    defer { server.stop() }
    let process = start(server, "--timeout", "0.3")
    let taken = process.fillInput(limit: 200_000_000, untilQuietFor: .seconds(1))
    #expect(taken > 0 && taken < 40_000_000, "the kernel's buffers and little more: \(taken)")
    #expect(process.isRunning, "\(process.errorsSoFar)")
    process.send(signal: SIGINT)
    #expect(process.wait().status == 130)
  }

  @Test("a standard output that nobody reads holds the server back")
  func heldOutput() {
    let server = LoopbackServer(LoopbackServer.big)
    defer { server.stop() }
    let process = start(server, "--events")
    let errors = process.collectErrors(untilQuietFor: .milliseconds(500), after: "hasBytesAvailable")
    let events = errors.split(separator: "\n").count { $0.hasPrefix("read hasBytesAvailable") }
    #expect(events > 0 && events < 100)
    process.send(signal: SIGINT)
    #expect(process.wait().status == 130)
  }

  // MARK: - Time

  @Test("a session may be idle for longer than --timeout, which counts once the input has ended")
  func idle() throws {
    let server = LoopbackServer(.echo)
    defer { server.stop() }
    let process = start(server, "--timeout", "0.3")
    process.write("a")
    #expect(process.collect { $0.text == "a" })
    #expect(!process.collect(seconds: 2) { _ in false })
    try #require(process.isRunning, "\(process.errorsSoFar)")
    process.write("b")
    #expect(process.collect { $0.text == "ab" })
    process.closeInput()
    #expect(process.wait().code == 0)
  }

  @Test("once the input has ended, a server that says nothing is given up after --timeout")
  func silent() {
    let server = LoopbackServer(.silent)
    defer { server.stop() }
    let process = start(server, "--timeout", "0.3")
    process.write("anybody there?")
    process.closeInput()
    let result = process.wait()
    #expect(result.code == 6 && result.output.isEmpty, "\(result.errorText)")
    #expect(
      result.errorLines == ["error: POSIX 110 Connection timed out (127.0.0.1:\(server.port), read)"],
      "\(result.errorText)")
  }
}
