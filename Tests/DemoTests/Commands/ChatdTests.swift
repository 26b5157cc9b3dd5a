// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `chatd`: what only the program's own server promises.

import Glibc
import Testing

@Suite("chatd", .timeLimit(.minutes(5)))
struct ChatdTests {
  // C1, C10
  @Test("the port is the kernel's choice, and each client is told of with both addresses")
  func addresses() throws {
    let (process, port) = try DemoProcess.chatd("--events")
    #expect(port != 0)
    let ann = try LineSocket(port: port)
    let own = SocketCalls.port(of: ann.fd)
    #expect(process.tells("1: from 127.0.0.1:\(own) at 127.0.0.1:\(port)"), "\(process.errorsSoFar)")
    ann.send("iam:Ann\n")
    #expect(ann.line() == "Ann joined")
    ann.close()
    #expect(process.tells("1: closed"))
    process.send(signal: SIGINT)
    let result = process.wait()
    for line in [
      "1: read openCompleted", "1: write openCompleted", "1: read line 8", "1: read endEncountered",
    ] {
      #expect(result.errorLines.contains(line), "\(result.errorText)")
    }
  }

  // R5
  @Test(
    "a signal ends it in order: each client gets the end, and no socket is left",
    arguments: [SIGINT, SIGTERM])
  func signals(_ number: Int32) throws {
    let (process, port) = try DemoProcess.chatd("--json")
    let clients = try (1...20).map { _ in try LineSocket(port: port) }
    for client in clients { client.send("iam:x\n") }
    for client in clients { #expect(client.lines(1) == ["x joined"]) }
    process.send(signal: number)
    for client in clients {
      let rest = client.rest()
      #expect(rest.split(separator: "\n").allSatisfy { $0 == "x joined" } && client.hasEnded)
      client.close()
    }
    let result = process.wait()
    #expect(result.status == 128 + number)
    #expect(
      result.text.contains(#""socketsLeft":0"#) && result.text.contains(#""lines":20,"dropped":0"#),
      "\(result.text)")
    #expect(SocketCalls.connect(port: port) < 0)
  }

  @Test("a client that stays when the server ends does not keep it")
  func clientStays() throws {
    let (process, port) = try DemoProcess.chatd()
    let client = try LineSocket(port: port)
    client.send("iam:x\n")
    #expect(client.line() == "x joined")
    process.send(signal: SIGINT)
    #expect(process.wait().status == 130)
    #expect(client.rest() == "")
  }

  // Field report 41
  @Test("a line without end is given up at its limit, told of, and the rest of it is not kept")
  func endless() throws {
    let (process, port) = try DemoProcess.chatd()
    let client = try LineSocket(port: port)
    startThread { [fd = client.fd] in _ = SocketCalls.sendAll(fd, [UInt8](repeating: 0x78, count: 64_000_000))
    }
    #expect(client.line() == "error: line too long")
    #expect(client.line() == nil && client.hasEnded)
    let other = try LineSocket(port: port)
    other.send("iam:x\n")
    #expect(other.line() == "x joined")
    process.send(signal: SIGINT)
    #expect(process.wait().status == 130)
  }

  @Test("a client that ends its side gets what it was told before")
  func halfClosed() throws {
    let (process, port) = try DemoProcess.chatd()
    let client = try LineSocket(port: port)
    client.send("iam:Ann\nmsg:one\nmsg:two\n")
    client.finish()
    #expect(client.rest() == "Ann joined\nAnn: one\nAnn: two\n")
    process.send(signal: SIGINT)
    #expect(process.wait().status == 130)
  }

  @Test("a Unix-domain socket is there while the server is, and no longer")
  func unix() throws {
    let folder = TemporaryFolder()
    let path = folder.file("s")
    let (process, _) = try DemoProcess.chatd("--unix", path)
    #expect(process.outputSoFar == "listening on unix:\(path)\n")
    let chat = DemoProcess(["chat", "--unix", path, "--name", "Ann"], keepsInput: true)
    chat.write("hello\n/quit\n")
    let result = chat.wait()
    #expect(result.code == 0 && result.text == "Ann joined\nAnn: hello\n", "\(result.errorText)")
    process.send(signal: SIGINT)
    #expect(process.wait().status == 130)
    #expect(access(path, F_OK) != 0)
  }

  @Test("a port in use, and an address that is not this machine's, end it with 2")
  func badAddress() {
    let server = LoopbackServer(.sink)
    defer { server.stop() }
    let result = DemoProcess.run("chatd", "\(server.port)")
    #expect(result.code == 2 && result.output.isEmpty)
    #expect(
      result.errorLines == ["error: POSIX 98 Address already in use (127.0.0.1:\(server.port), listen)"])
    #expect(DemoProcess.run("chatd", "--host", "192.0.2.1").code == 2)
    for words in [["--host", "nonsense"], ["--unix", "/tmp/x", "80"], ["--queue-limit", "100"], ["65536"]] {
      #expect(DemoProcess(["chatd"] + words).wait().code == 64, "\(words)")
    }
  }

  @Test("with a time limit it ends when nothing happens")
  func timeLimit() {
    let result = DemoProcess.run("chatd", "--timeout", "0.3")
    #expect(result.code == 6 && result.text.hasPrefix("listening on 127.0.0.1:"), "\(result.errorText)")
  }
}
