// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `chat` with real servers: the program's own, one on Twisted, and the tutorial's with its faults.

import Glibc
import Testing

@Suite("chat with servers", .timeLimit(.minutes(5)))
struct ChatServersTests {
  // R1, R2, R5
  @Test("two talk, and one leaves", arguments: ChatServerKind.allCases)
  func talk(_ kind: ChatServerKind) throws {
    let server = try ChatServerProcess(kind)
    let maggie = DemoProcess.chat("Maggie", port: server.port, "--history", "2", "--verbose")
    #expect(maggie.shows(kind.joined("Maggie")))
    // The name of the host, as in the example.
    let ann = DemoProcess(
      ["chat", "localhost", "\(server.port)", "--name", "Ann", "--verbose"], keepsInput: true)
    ann.write("hello\nsee http://x/:y\n/quit\n")
    let annResult = ann.wait()
    #expect(annResult.code == 0, "\(annResult.errorText)")
    #expect(annResult.errorLines.contains("sockets left: 0"), "\(annResult.errorText)")

    var lines = [kind.joined("Maggie"), kind.joined("Ann"), "Ann: hello"]
    if kind == .seed {
      // It has no notice of leaving, and cuts texts at their first colon.
      lines.append("Ann: see http")
      let warning = "the server has cut 'see http://x/:y' at its colon"
      #expect(annResult.errorLines.contains(warning), "\(annResult.errorText)")
    } else {
      lines += ["Ann: see http://x/:y", "Ann left"]
      #expect(!annResult.errorText.contains("cut"), "\(annResult.errorText)")
    }
    #expect(maggie.shows(lines.last ?? ""), "\(maggie.outputSoFar)")
    maggie.write("/quit\n")
    let result = maggie.wait()
    #expect(result.code == 0, "\(result.errorText)")
    #expect(result.text == (lines + lines.suffix(2)).joined(separator: "\n") + "\n")
  }

  // R1
  @Test("a hundred lines, typed all at once, all come, in order", arguments: ChatServerKind.allCases)
  func many(_ kind: ChatServerKind) throws {
    let server = try ChatServerProcess(kind)
    let maggie = DemoProcess.chat("Maggie", port: server.port)
    #expect(maggie.shows(kind.joined("Maggie")))
    let ann = DemoProcess.chat("Ann", port: server.port)
    let texts = (1...100).map { "text \($0) 你好" }
    ann.write(texts.joined(separator: "\n") + "\n/quit\n")
    let result = ann.wait(seconds: 60)
    #expect(result.code == 0, "\(result.errorText)")
    let expected = [kind.joined("Ann")] + texts.map { "Ann: " + $0 }
    #expect(result.text == expected.joined(separator: "\n") + "\n")
    #expect(maggie.shows("Ann: text 100 你好"))
    maggie.write("/quit\n")
    #expect(maggie.wait().code == 0)
  }

  // R7
  @Test("a server that is killed is told of at once", arguments: ChatServerKind.allCases)
  func killed(_ kind: ChatServerKind) throws {
    let server = try ChatServerProcess(kind)
    let chat = DemoProcess.chat("Ann", port: server.port)
    #expect(chat.shows(kind.joined("Ann")))
    server.kill()
    let result = chat.wait()
    #expect(result.code == 3 && result.errorLines.contains("disconnected"), "\(result.errorText)")
    let error = result.errorLines.last ?? ""
    #expect(error.hasPrefix("error: ") && error.contains("(127.0.0.1:\(server.port), "), "\(error)")
  }

  @Test(
    "a message over the limit is not sent to any server, and the chat goes on",
    arguments: ChatServerKind.allCases)
  func longMessage(_ kind: ChatServerKind) throws {
    let server = try ChatServerProcess(kind)
    let chat = DemoProcess.chat("Ann", port: server.port)
    chat.write(String(repeating: "x", count: 300_003) + "\nshort\n/quit\n")
    let result = chat.wait()
    #expect(result.code == 0 && result.text == "\(kind.joined("Ann"))\nAnn: short\n", "\(result.errorText)")
    #expect(result.errorText.contains("not sent: a message of 300007 bytes"))
  }
}

// R2
@Suite("Chat servers", .timeLimit(.minutes(5)))
struct ChatProtocolTests {
  /// Somebody who has joined, and has heard so.
  private func join(_ name: String, _ server: ChatServerProcess) throws -> LineSocket {
    let socket = try LineSocket(port: server.port)
    socket.send("iam:\(name)\n")
    #expect(socket.line() == "\(name) joined")
    return socket
  }

  @Test("both servers say the same to the same lines", arguments: ChatServerKind.faultless)
  func sameWords(_ kind: ChatServerKind) throws {
    let server = try ChatServerProcess(kind)
    let witness = try join("Maggie", server)
    let ann = try LineSocket(port: server.port)
    let refusal = "error: say iam:NAME first, then msg:TEXT"
    for (line, answer) in [
      ("msg:too early\n", refusal), ("hello\n", refusal), ("\n", refusal), ("iam:\n", refusal),
      ("iam: \r\n", refusal),
      ("IAM:Ann\n", refusal), ("\u{3000}iam: Ann\r\n", "Ann joined"), ("msg:hello\n", "Ann: hello"),
      ("msg:see http://x/:y\r\n", "Ann: see http://x/:y"), ("msg:\n", "Ann: "), ("msg: 你好 \n", "Ann: 你好"),
      ("what\n", refusal), ("iam:B:C\n", "B:C joined"), ("msg:x\n", "B:C: x"),
    ] {
      ann.send(line)
      #expect(ann.line() == answer, "\(line)")
      if answer != refusal { #expect(witness.line() == answer) }
    }
    ann.close()
    #expect(witness.line() == "B:C left")
  }

  // Field report 19
  @Test(
    "bytes that are not UTF-8 are passed on as marks, and a character may come in pieces",
    arguments: ChatServerKind.faultless)
  func text(_ kind: ChatServerKind) throws {
    let server = try ChatServerProcess(kind)
    let ann = try join("Ann", server)
    ann.send(Array("msg:".utf8) + [0xFF, 0x0A])
    #expect(ann.line() == "Ann: \u{FFFD}")
    ann.send(Array("msg:".utf8) + [0xE4, 0xBD])
    // A pause is what makes the cut: without it the kernel would put the bytes together again.
    usleep(50_000)
    ann.send([0xA0, 0x0A])
    #expect(ann.line() == "Ann: 你")
    ann.send([0xFF, 0xFE, 0x0A])
    #expect(ann.line() == "error: say iam:NAME first, then msg:TEXT")
  }

  // E12
  @Test("lines may come all in one packet, or byte by byte", arguments: ChatServerKind.faultless)
  func cuts(_ kind: ChatServerKind) throws {
    let server = try ChatServerProcess(kind)
    let ann = try LineSocket(port: server.port)
    let script = "iam:Ann\nmsg:one\r\nmsg:two\n"
    ann.send(script)
    #expect(ann.lines(3) == ["Ann joined", "Ann: one", "Ann: two"])
    for byte in script.utf8 {
      ann.send([byte])
      usleep(500)
    }
    #expect(ann.lines(3) == ["Ann joined", "Ann: one", "Ann: two"])
  }

  // E13; field report 40
  @Test(
    "a line of 4,096 bytes passes, whole and in pieces, and a byte more ends the connection",
    arguments: ChatServerKind.faultless)
  func limit(_ kind: ChatServerKind) throws {
    let server = try ChatServerProcess(kind)
    let witness = try join("Maggie", server)
    let ann = try join("Ann", server)
    #expect(witness.line() == "Ann joined")
    let text = String(repeating: "a", count: 4_092)
    ann.send("msg:\(text)\n")
    #expect(ann.line() == "Ann: \(text)" && witness.line() == "Ann: \(text)")
    ann.send("msg:\(text)")
    usleep(50_000)
    ann.send("\n")
    #expect(ann.line() == "Ann: \(text)" && witness.line() == "Ann: \(text)")
    ann.send("msg:\(text)a\n")
    #expect(ann.line() == "error: line too long")
    #expect(ann.line() == nil && ann.hasEnded)
    #expect(witness.line() == "Ann left")
  }

  @Test(
    "a client that goes in the middle of a line is told of, its half line is not, and the others go on",
    arguments: ChatServerKind.faultless, [true, false])
  func halfLine(_ kind: ChatServerKind, _ resets: Bool) throws {
    let server = try ChatServerProcess(kind)
    let witness = try join("Maggie", server)
    for _ in 0..<3 {
      let ann = try join("Ann", server)
      #expect(witness.line() == "Ann joined")
      ann.send("msg:half a li")
      if resets { ann.reset() } else { ann.close() }
      #expect(witness.line() == "Ann left")
    }
    witness.send("msg:on\n")
    #expect(witness.line() == "Maggie: on")
  }
}
