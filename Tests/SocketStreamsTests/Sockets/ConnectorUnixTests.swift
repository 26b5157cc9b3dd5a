// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import Testing

@testable import SocketStreams

@Suite("The connector on Unix-domain sockets", .timeLimit(.minutes(1)))
struct ConnectorUnixTests {
  // A11, S16, report 68
  @Test("a path connects, and options of TCP are not held against it")
  func connects() async throws {
    let directory = try SocketDirectory()
    let listener = try RawListener(unixPath: directory.file("ü", length: 107))
    var options = ConnectionOptions()
    options.noDelay = true
    options.keepAlive = .init()
    options.sendBufferSize = 20_000
    let target = try SocketAddress(unixPath: directory.file("ü", length: 107))
    let client = try #require(await Connection(.address(target), options).socket())
    let server = try #require(listener.accept())
    #expect(SystemCalls.option(client.fd, level: SOL_SOCKET, name: SO_SNDBUF) == 40_000)
    client.send([7])
    #expect(server.receive(1) == [7])
  }

  // A10, A11
  @Test("a path that does not exist, or on which nobody listens, fails with its code")
  func failures() async throws {
    let directory = try SocketDirectory()
    let missing = try SocketAddress(unixPath: directory.file("missing"))
    #expect(
      await Connection(.address(missing)).error()
        == StreamError(
          .posix, code: ENOENT, operation: "connect",
          attempts: [ConnectAttempt(address: missing, code: ENOENT)]))
    let path = directory.file("left")
    try RawListener(unixPath: path).close()
    #expect(try await Connection(.address(SocketAddress(unixPath: path))).error()?.code == ECONNREFUSED)
  }

  // A11
  @Test("a listener whose queue is full is tried again until there is room")
  func fullQueue() async throws {
    let directory = try SocketDirectory()
    let hole = try BlackHole(unixPath: directory.file())
    let target = try SocketAddress(unixPath: directory.file())
    let connection = Connection(.address(target))
    await sharedLoopPass()
    #expect(connection.steps.value.map(\.code) == [nil])
    #expect(connection.outcomeCount == 0)
    #expect(hole.open() != nil)
    #expect(await connection.socket() != nil)
    #expect(connection.steps.value.map(\.code) == [nil])
  }

  // A8
  @Test("the time limit ends the wait for a full queue")
  func fullQueueTimesOut() async throws {
    let directory = try SocketDirectory()
    let hole = try BlackHole(unixPath: directory.file())
    let target = try SocketAddress(unixPath: directory.file())
    var options = ConnectionOptions()
    options.connectTimeout = .milliseconds(30)
    let attempts = [ConnectAttempt(address: target, code: ETIMEDOUT)]
    #expect(
      await Connection(.address(target), options).error()
        == StreamError(.posix, code: ETIMEDOUT, operation: "connect", attempts: attempts))
    withExtendedLifetime(hole) {}
  }
}
