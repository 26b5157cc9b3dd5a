// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `chat` against servers that misbehave, played by the test itself.

import Glibc
import Testing

@Suite("chat", .timeLimit(.minutes(5)))
struct ChatTests {
  /// A client, and the server's side of its connection, which has read the name.
  private func start(_ more: String..., answering: Bool = true) throws -> (
    chat: DemoProcess, server: LineSocket
  ) {
    let listener = try LineListener()
    let arguments = ["chat", "127.0.0.1", "\(listener.port)", "--name", "Ann"] + more
    let chat = DemoProcess(arguments, keepsInput: true)
    let server = try #require(listener.next())
    #expect(server.line() == "iam:Ann")
    if answering { server.send("Ann joined\n") }
    return (chat, server)
  }

  private func quit(_ chat: DemoProcess, _ server: LineSocket) -> DemoResult {
    chat.write("/quit\n")
    #expect(server.line() == nil && server.hasEnded)
    server.close()
    return chat.wait()
  }

  // R1, F2
  @Test("what is typed before the connection is up is sent after the name, a line each, ended by a line feed")
  func typedBefore() throws {
    let listener = try LineListener()
    let chat = DemoProcess.chat("Ann", port: listener.port)
    chat.write("hello\r\n\n  \nsee http://x/:y\n/quit\nafter\n")
    let server = try #require(listener.next())
    #expect(server.line() == "iam:Ann")
    server.send("Ann joined\n")
    #expect(server.line() == "msg:hello")
    server.send("Ann: hello\n")
    #expect(server.line() == "msg:see http://x/:y")
    server.send("Ann: see http://x/:y\n")
    #expect(server.rest() == "")
    server.close()
    let result = chat.wait()
    #expect(result.code == 0, "\(result.errorText)")
    #expect(result.text == "Ann joined\nAnn: hello\nAnn: see http://x/:y\n")
    #expect(result.errorLines.last?.hasPrefix("3 lines, in ") == true, "\(result.errorText)")
  }

  // R1
  @Test(
    "the first text waits for the client's own notice, in either server's words",
    arguments: ["joined", "has joined"])
  func waitsForNotice(_ words: String) throws {
    let (chat, server) = try start(answering: false)
    chat.write("hello\n")
    server.send("Maggie joined\nAnna joined\nAnn \(words)\n")
    #expect(chat.shows("Ann \(words)"))
    #expect(server.line() == "msg:hello")
    server.send("Ann: hello\n")
    #expect(quit(chat, server).code == 0)
  }

  // R1
  @Test("a server that answers nothing gets each line half a second after the one before")
  func noAnswer() throws {
    let (chat, server) = try start(answering: false)
    let start = ContinuousClock.now
    chat.write("one\ntwo\n")
    #expect(server.line() == "msg:one")
    // The name was read here some time after it was sent.
    #expect(ContinuousClock.now - start > .milliseconds(300))
    #expect(server.line() == "msg:two")
    #expect(ContinuousClock.now - start > .milliseconds(800))
    #expect(quit(chat, server).code == 0)
  }

  // E13
  @Test("a message of more than 4,096 bytes is not sent, the user is told, and the chat goes on")
  func longMessage() throws {
    let (chat, server) = try start()
    chat.write(
      String(repeating: "x", count: 300_003) + "\n" + String(repeating: "y", count: 4_093) + "\nhi\n")
    #expect(server.line() == "msg:hi")
    server.send("Ann: hi\n")
    let longest = String(repeating: "z", count: 4_092)
    chat.write(longest + "\n")
    #expect(server.line() == "msg:" + longest)
    server.send("Ann: \(longest)\n")
    let result = quit(chat, server)
    #expect(result.code == 0)
    for count in [300_007, 4_097] {
      let line = "not sent: a message of \(count) bytes with its 'msg:', and 4096 is the limit"
      #expect(result.errorLines.contains(line), "\(result.errorText)")
    }
  }

  @Test("typed bytes that are not UTF-8 are sent as replacement marks")
  func invalidInput() throws {
    let (chat, server) = try start()
    chat.write([0x61, 0xFF, 0xFE, 0x0A])
    #expect(server.line() == "msg:a\u{FFFD}\u{FFFD}")
    server.send("Ann: a\n")
    #expect(quit(chat, server).code == 0)
  }

  // E12, E18; field report 19
  @Test(
    "a character whose bytes come apart is whole, wrong bytes become marks, and every end of a line counts")
  func textInPieces() throws {
    let (chat, server) = try start(answering: false)
    server.send([0xE4, 0xBD])
    // A pause is what makes the cut: without it the kernel would put the bytes together again.
    usleep(50_000)
    server.send([0xA0, 0x0A])
    #expect(chat.shows("你"))
    server.send([0xFF, 0x0A])
    #expect(chat.shows("\u{FFFD}"))
    server.send("with CR\r\n\nlast, without end")
    server.finish()
    let result = chat.wait()
    #expect(result.code == 3 && result.text == "你\n\u{FFFD}\nwith CR\n\nlast, without end\n")
  }

  // E13; field report 41
  @Test("a line without end is given up at 65,536 bytes", arguments: [1_000_000, 64_000_000])
  func endless(_ count: Int) throws {
    let (chat, server) = try start()
    startThread { [fd = server.fd] in _ = SocketCalls.sendAll(fd, [UInt8](repeating: 0x78, count: count)) }
    let result = chat.wait()
    #expect(result.code == 4)
    let line = result.errorLines.last { $0.hasPrefix("error: ") } ?? ""
    #expect(line.hasPrefix("error: streams 33 line over 65536 bytes (127.0.0.1:"), "\(result.errorText)")
    #expect(line.hasSuffix(", read)"))
  }

  // Field report 40
  @Test("a line of 65,536 bytes passes, whole and in pieces, and one of a byte more does not")
  func exactLimit() throws {
    let (chat, server) = try start()
    let line = String(repeating: "a", count: 65_536)
    server.send(line + "\r\n")
    #expect(chat.shows(line))
    server.send(String(line.dropLast()))
    usleep(20_000)
    server.send("a")
    usleep(20_000)
    server.send("\r")
    usleep(20_000)
    server.send("\n")
    #expect(chat.shows(line, count: 2))
    server.send(line + "a\n")
    #expect(chat.wait().code == 4)
  }

  // R7
  @Test("a server that ends right after accepting is told of, and open before it")
  func closesAtOnce() throws {
    let listener = try LineListener()
    let chat = DemoProcess.chat("Ann", port: listener.port, "--events", "--json")
    try #require(listener.next()).finish()
    let result = chat.wait()
    #expect(result.code == 3 && result.errorLines.contains("disconnected"), "\(result.errorText)")
    let open = try #require(result.errorLines.firstIndex(of: "read openCompleted"), "\(result.errorText)")
    let end = try #require(result.errorLines.firstIndex(of: "read endEncountered"), "\(result.errorText)")
    #expect(open < end)
    let error = "error: streams 32 the server has ended the connection (127.0.0.1:\(listener.port), read)"
    #expect(result.errorLines.last == error)
    #expect(result.text.contains(#""socketsLeft":0"#), "\(result.text)")
  }

  // R7
  @Test("a server that resets is told of by its error")
  func resets() throws {
    let (chat, server) = try start()
    #expect(chat.shows("Ann joined"))
    server.reset()
    let result = chat.wait()
    #expect(result.code == 3 && result.errorLines.contains("disconnected"), "\(result.errorText)")
    #expect(result.errorText.contains("error: POSIX 104 Connection reset by peer (127.0.0.1:"))
  }

  // R5
  @Test("SIGINT closes both halves, and leaves no socket")
  func interrupt() throws {
    let (chat, server) = try start("--json")
    #expect(chat.isRunning)
    chat.send(signal: SIGINT)
    let result = chat.wait()
    #expect(
      result.status == 130 && result.text.contains(#""socketsLeft":0"#), "\(result.text)\(result.errorText)")
    #expect(result.text.contains(#""command":"chat""#), "\(result.text)")
    #expect(server.line() == nil && (server.hasEnded || server.isBroken))
  }

  @Test("a server that reads nothing is given up after the time limit")
  func readsNothing() throws {
    let listener = try LineListener(hasSmallBuffers: true)
    let chat = DemoProcess.chat("Ann", port: listener.port, "--timeout", "1")
    let server = try #require(listener.next())
    // Answers everything, unread: so the client says what it has.
    startThread { [fd = server.fd] in
      while SocketCalls.sendAll(fd, Array("Ann joined\nAnn: \n".utf8)) { usleep(1_000) }
    }
    chat.writeInBackground(
      Array(String(repeating: String(repeating: "x", count: 4_000) + "\n", count: 1_000).utf8))
    let result = chat.wait()
    #expect(result.code == 6, "\(result.errorText)")
    let error = "error: POSIX 110 Connection timed out (127.0.0.1:\(listener.port), write)"
    #expect(result.errorLines.last == error, "\(result.errorText)")
  }

  @Test("the end of input leaves, and a server that keeps its side open does not keep the client")
  func serverStays() throws {
    let (chat, server) = try start("--timeout", "0.5")
    chat.closeInput()
    #expect(server.line() == nil && server.hasEnded)
    let result = chat.wait()
    #expect(result.code == 0, "\(result.errorText)")
  }

  @Test("--history prints the last lines once more, whatever the end was")
  func history() throws {
    let (chat, server) = try start("--history", "2")
    server.send("one\ntwo\n")
    #expect(chat.shows("two"))
    server.close()
    let result = chat.wait()
    #expect(result.code == 3 && result.text == "Ann joined\none\ntwo\none\ntwo\n")
    #expect(DemoProcess.run("chat", "h", "1", "--name", "A", "--json", "--history", "2").code == 64)
  }

  @Test("a name that a server could misread is a wrong argument, and so is none")
  func badName() {
    for name in ["a:b", "a\nb", "Ann\n", "a\rb", "", " "] {
      let result = DemoProcess.run("chat", "127.0.0.1", "1", "--name", name)
      #expect(result.code == 64 && result.output.isEmpty, "\(result.errorText)")
      let sentence =
        "is invalid for '--name <name>': expected a name without a colon, a line end or any other control"
      #expect(
        result.errorText.hasPrefix("Error: ") && result.errorText.contains(sentence), "\(result.errorText)")
    }
    let result = DemoProcess.run("chat", "127.0.0.1", "1")
    #expect(result.code == 64 && result.errorLines.first == "Error: Missing option '--name <name>'")
  }

  @Test("standard input that cannot be read ends the chat with 7")
  func noInput() throws {
    let listener = try LineListener()
    let arguments = ["chat", "127.0.0.1", "\(listener.port)", "--name", "Ann"]
    let result = DemoProcess(arguments, without: 0).wait()
    #expect(result.code == 7, "\(result.errorText)")
  }

  @Test("a reader of the output that has gone ends the chat quietly")
  func outputGone() throws {
    let (chat, server) = try start()
    #expect(chat.shows("Ann joined"))
    chat.closeOutput()
    server.send("more\n")
    #expect(chat.wait().status == 141)
  }

  @Test("while nobody reads the output, nothing more is read from the server")
  func slowOutput() throws {
    let (chat, server) = try start()
    // The send below stops when all buffers between are full.
    var timeout = timeval(tv_sec: 0, tv_usec: 500_000)
    setsockopt(server.fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    let lines = Array(String(repeating: String(repeating: "x", count: 999) + "\n", count: 50_000).utf8)
    #expect(!SocketCalls.sendAll(server.fd, lines))
    chat.send(signal: SIGINT)
    #expect(chat.wait().status == 130)
  }
}
