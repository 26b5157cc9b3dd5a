// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `chat --reconnect`, with a server that goes and comes back.

import Glibc
import Testing

// M1; field report 70
@Suite("chat --reconnect", .timeLimit(.minutes(5)))
struct ChatReconnectTests {
  /// A client, the listener, and the server's side of the first connection, with the name answered.
  private func start() throws -> (chat: DemoProcess, listener: LineListener, server: LineSocket) {
    let listener = try LineListener()
    let chat = DemoProcess.chat("Ann", port: listener.port, "--reconnect")
    let server = try #require(listener.next())
    #expect(server.line() == "iam:Ann")
    server.send("Ann joined\n")
    #expect(chat.shows("Ann joined"))
    return (chat, listener, server)
  }

  @Test(
    "after a break it tries again, later and later and once at a time, joins, and sends what was typed meanwhile"
  )
  func again() throws {
    let (chat, listener, server) = try start()
    listener.close()
    let start = ContinuousClock.now
    server.close()
    #expect(chat.tells("disconnected"))
    chat.write("meanwhile\n")
    // After 0.5 s and 1 s more the port refuses.
    #expect(chat.tells("POSIX 111 Connection refused, connecting again in 2 s"), "\(chat.errorsSoFar)")
    #expect(ContinuousClock.now - start > .milliseconds(1_400))
    let revived = try LineListener(port: listener.port)
    let second = try #require(revived.next())
    #expect(ContinuousClock.now - start > .milliseconds(3_300))
    #expect(second.line() == "iam:Ann")
    second.send("Ann joined\n")
    #expect(second.line() == "msg:meanwhile")
    second.send("Ann: meanwhile\n")
    let third = revived.next(seconds: 1)
    #expect(third == nil)
    chat.write("/quit\n")
    #expect(second.line() == nil && second.hasEnded)
    second.close()
    let result = chat.wait()
    #expect(result.code == 0 && result.text == "Ann joined\nAnn joined\nAnn: meanwhile\n")
    let told = result.errorLines.dropLast()
    #expect(
      told == [
        "disconnected", "connecting again in 0.5 s", "POSIX 111 Connection refused, connecting again in 1 s",
        "POSIX 111 Connection refused, connecting again in 2 s",
      ], "\(result.errorText)")
  }

  @Test("the waits begin afresh after a success")
  func afresh() throws {
    let (chat, listener, server) = try start()
    server.close()
    for count in 2...3 {
      let next = try #require(listener.next())
      #expect(next.line() == "iam:Ann")
      next.send("Ann joined\n")
      #expect(chat.shows("Ann joined", count: count))
      next.close()
      #expect(chat.tells("connecting again in 0.5 s", count: count), "\(chat.errorsSoFar)")
    }
    chat.send(signal: SIGINT)
    #expect(chat.wait().status == 130)
  }

  @Test("a signal during a wait ends it, and nothing is tried any more")
  func interrupt() throws {
    let (chat, listener, server) = try start()
    server.close()
    #expect(chat.tells("connecting again in 0.5 s"))
    chat.send(signal: SIGINT)
    #expect(chat.wait().status == 130)
    // If the signal came when the wait was over already, that connection has ended.
    if let another = listener.next(seconds: 1) {
      _ = another.rest()
      #expect(another.hasEnded || another.isBroken)
    }
    let last = listener.next(seconds: 0.1)
    #expect(last == nil)
  }

  @Test("/quit without a connection ends it, if nothing is left to be sent")
  func quitsOffline() throws {
    let (chat, listener, server) = try start()
    listener.close()
    server.close()
    #expect(chat.tells("POSIX 111"))
    chat.write("/quit\n")
    let result = chat.wait()
    #expect(result.code == 0, "\(result.errorText)")
  }

  @Test("it is for connections that break: the first one has to come about")
  func firstFails() {
    let (fd, port) = SocketCalls.refusingPort()
    defer { close(fd) }
    let result = DemoProcess.chat("Ann", port: port, "--reconnect").wait()
    #expect(result.code == 2)
    #expect(result.errorLines.last == "error: POSIX 111 Connection refused (127.0.0.1:\(port), connect)")
  }

  @Test("through a restart of the program's own server, two go on to talk")
  func restart() throws {
    let server = try ChatServerProcess(.own)
    let maggie = DemoProcess.chat("Maggie", port: server.port, "--reconnect")
    let ann = DemoProcess.chat("Ann", port: server.port, "--reconnect")
    #expect(maggie.shows("Maggie joined") && ann.shows("Ann joined"))
    server.kill()
    #expect(maggie.tells("disconnected") && ann.tells("disconnected"))
    let (revived, _) = try DemoProcess.chatd("\(server.port)")
    #expect(maggie.shows("Maggie joined", count: 2) && ann.shows("Ann joined", count: 2))
    ann.write("still here\n")
    // Who came back first has also heard the other.
    #expect(maggie.shows("Ann: still here"), "\(maggie.outputSoFar)")
    for chat in [maggie, ann] {
      chat.write("/quit\n")
      #expect(chat.wait().code == 0)
    }
    revived.send(signal: SIGINT)
    #expect(revived.wait().status == 130)
  }
}
