// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import Testing

@testable import SocketStreams

@Suite("Connectors that are given up, and what they leave", .timeLimit(.minutes(2)))
struct ConnectorEndingTests {
  // A9
  @Test("after a cancel there is no outcome: before the start, while connecting, and after it")
  func cancelling() async throws {
    let hole = try BlackHole()
    let target = ConnectTarget.address(SocketAddress(ip: "127.0.0.1", port: hole.port)!)
    let notBegun = Connection(target, isStarted: false)
    notBegun.cancel()
    notBegun.start()
    let connecting = Connection(target)
    await sharedLoopPass()
    #expect(connecting.steps.value.count == 1)
    connecting.cancel()
    connecting.cancel()
    await sharedLoopPass()
    #expect(notBegun.outcomeCount == 0 && notBegun.steps.value.isEmpty)
    #expect(connecting.outcomeCount == 0 && connecting.steps.value.count == 1)

    let listener = try RawListener()
    let done = Connection(.address(SocketAddress(ip: "127.0.0.1", port: listener.port)!))
    let socket = try #require(await done.socket())
    done.cancel()
    await sharedLoopPass()
    #expect(done.outcomeCount == 1)
    #expect(try #require(listener.accept()).send([1]) == 0)
    #expect(fcntl(socket.fd, F_GETFD) >= 0)
  }

  // A9
  @Test("a cancel from within the report of an attempt ends the connection")
  func cancelInsideReport() async throws {
    let listener = try RawListener()
    let target = ConnectTarget.address(SocketAddress(ip: "127.0.0.1", port: listener.port)!)
    let connection = Connection(target) { $0.cancel() }
    await sharedLoopPass()
    #expect(connection.steps.value.count == 1)
    // The listener sees a connection that ended, or none.
    if let server = listener.accept(seconds: 0) { #expect(server.receiveEnd() == 0) }
    #expect(connection.outcomeCount == 0)
  }

  // Reports 4 and 17
  @Test("refused, swallowed, unresolved, cancelled and overtaken attempts leave no descriptor")
  func descriptors() async {
    await #expect(processExitsWith: .success) {
      let refused = try RefusedPort()
      let (hole, listener) = try onOnePort {
        let hole = try BlackHole(address: "127.0.0.2")
        return (hole, try RawListener(port: hole.port))
      }
      let slow = SocketAddress(ip: "127.0.0.2", port: hole.port)!
      var brief = ConnectionOptions()
      brief.connectTimeout = .milliseconds(50)
      // The library's loop and its descriptors are made by the first use.
      await sharedLoopPass()
      let before = openSockets()

      var codes: [Int32: Int] = [:]
      func count(_ connections: [Connection]) async {
        for connection in connections { codes[await connection.error()?.code ?? 0, default: 0] += 1 }
      }
      for _ in 0..<50 {
        let address = SocketAddress(ip: "127.0.0.1", port: refused.port)!
        await count((0..<10).map { _ in Connection(.address(address)) })
      }
      await count((0..<50).map { _ in Connection(.address(slow), brief) })
      await count((0..<50).map { _ in Connection(host: "bad.test", port: 1, [:]) })
      let cancelled = (0..<50).map { _ in Connection(.address(slow)) }
      await sharedLoopPass()
      for connection in cancelled { connection.cancel() }
      var opened = 0
      for _ in 0..<3 {
        let table = ["two.test": ["127.0.0.2", "127.0.0.1"]]
        guard let socket = await Connection(host: "two.test", port: hole.port, table).socket() else {
          continue
        }
        socket.close()
        listener.accept()?.close()
        opened += 1
      }
      await sharedLoopPass()

      let left = openSockets().subtracting(before)
      let isRight =
        left.isEmpty && codes == [ECONNREFUSED: 500, ETIMEDOUT: 50, EAI_NONAME: 50] && opened == 3
      exit(isRight ? EXIT_SUCCESS : EXIT_FAILURE)
    }
  }

  // Report 76
  @Test("200 connections that are given up during a look-up leave nothing, and nobody is called when it ends")
  func cancelDuringLookup() async throws {
    let lookups = HungLookups()
    let resolver = SystemResolver(maximumThreads: 2, idleLimit: .milliseconds(1), lookup: lookups.lookUp)
    var options = ConnectionOptions()
    options.resolver = resolver
    let connections = (0..<200).map { Connection(.host("hung-\($0 % 20).test", 80), options) }
    #expect(lookups.waitUntilBegun(2))
    await sharedLoopPass()
    for connection in connections { connection.cancel() }
    await sharedLoopPass()
    #expect(resolver.pool.queuedCount == 0)
    lookups.letGo(2)
    #expect(try await resolved(StaticResolver(["x": ["127.0.0.1"]]), "x").get().count == 1)
    await sharedLoopPass()
    #expect(connections.allSatisfy { $0.outcomeCount == 0 && $0.steps.value.isEmpty })
  }

  @Test("a connector goes when it is done or given up")
  func lifetime() async throws {
    let refused = try RefusedPort()
    let hole = try BlackHole()
    weak var done: Connector?
    weak var cancelled: Connector?
    await withCheckedContinuation { continuation in
      let address = SocketAddress(ip: "127.0.0.1", port: refused.port)!
      let connector = Connector(.address(address), options: .init()) { _ in continuation.resume() }
      done = connector
      connector.start()
    }
    do {
      let address = SocketAddress(ip: "127.0.0.1", port: hole.port)!
      let connector = Connector(.address(address), options: .init()) { _ in Issue.record("an outcome") }
      cancelled = connector
      connector.start()
      await sharedLoopPass()
      connector.cancel()
    }
    await sharedLoopPass()
    #expect(done == nil)
    #expect(cancelled == nil)
  }

  // A9
  @Test("a connection that is up when it is given up, but not yet told, is closed")
  func cancelOfAnUntoldConnection() throws {
    let listener = try RawListener()
    let address = SocketAddress(ip: "127.0.0.1", port: listener.port)!
    let connection = Connection(.address(address), isStarted: false)
    let (isHeld, goOn) = (Gate(), Gate())
    EventLoop.shared.execute {
      connection.start()
      // In the pass in which the attempt begins, and after it.
      EventLoop.shared.execute {
        isHeld.open()
        _ = goOn.wait(seconds: 20)
      }
    }
    #expect(isHeld.wait(seconds: 20))
    let server = try #require(listener.accept())
    connection.cancel()
    goOn.open()
    #expect(server.receiveEnd() == 0)
    #expect(connection.outcomeCount == 0)
  }

  // A9
  @Test("a cancel that races with the outcome leaves one of the two, and no descriptor")
  func racingCancel() async {
    await #expect(processExitsWith: .success) {
      let listener = try RawListener()
      let target = ConnectTarget.address(SocketAddress(ip: "127.0.0.1", port: listener.port)!)
      await sharedLoopPass()
      let before = openSockets()
      for round in 0..<500 {
        let connection = Connection(target)
        for _ in 0..<(round % 40) { sched_yield() }
        connection.cancel()
        await sharedLoopPass()
        if connection.outcomeCount == 1, let socket = await connection.socket() { socket.close() }
        while let server = listener.accept(seconds: 0) { server.close() }
      }
      await sharedLoopPass()
      let left = openSockets().subtracting(before)
      exit(left.isEmpty ? EXIT_SUCCESS : EXIT_FAILURE)
    }
  }
}
