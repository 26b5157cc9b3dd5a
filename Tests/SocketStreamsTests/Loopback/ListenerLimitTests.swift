// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How many connections a listener has at once, and its pauses.
import Glibc
import SocketStreams
import Testing

@Suite("A listener's limits and pauses", .timeLimit(.minutes(2)))
struct ListenerLimitTests {
  // C8
  @Test("over the limit in all, connections wait in the kernel; each end lets one in")
  func total() throws {
    let server = try AcceptingServer(limits: ConnectionLimits(total: 2))
    let clients = try (0..<5).map { _ in try #require(server.connect()) }
    #expect(server.hasAccepted(2))
    #expect(server.listener.connectionCount == 2 && !server.listener.isPaused)
    // Waiting costs the loop nothing.
    #expect(loopTime(of: server.base, over: 0.2) < 0.1)
    server.drop()
    #expect(server.hasAccepted(2))
    #expect(server.listener.connectionCount == 2)
    server.drop(2)
    #expect(server.hasAccepted(2))
    server.drop(2)
    #expect(eventually(within: 5) { server.listener.connectionCount == 0 })
    #expect(server.peers.value.count == 5 && server.refused.value.isEmpty)
    withExtendedLifetime(clients) {}
    server.listener.close()
  }

  // C8
  @Test("within a limit of one, a hundred clients are served one after the other")
  func inTurn() throws {
    let listener = try Listener(
      address: SocketAddress(ip: "127.0.0.1", port: 0)!, limits: ConnectionLimits(total: 1))
    let (base, other) = (try EventBase.startThread(), try EventBase.startThread())
    let (most, served) = (Shared(0), Shared(0))
    listener.schedule(on: base) { [weak listener] pair, _ in
      let count = listener?.connectionCount ?? 0
      most.with { $0 = max($0, count) }
      // Ends on another thread.
      pair.input.setClient([.endEncountered, .errorOccurred]) { _, _ in
        served.with { $0 += 1 }
        pair.close()
      }
      pair.schedule(on: other)
      pair.open()
    }
    let clients = try (0..<100).map { _ in try #require(RawSocket(connectingTo: listener)) }
    for client in clients { client.shutdownWrite() }
    #expect(eventually(within: 30) { served.value == 100 })
    #expect(most.value == 1)
    #expect(clients.allSatisfy { $0.receiveEnd() == 0 })
    #expect(eventually(within: 5) { listener.connectionCount == 0 })
    listener.close()
  }

  // C8
  @Test("over the limit of its address a connection is closed at once and told; another address is served")
  func perPeer() throws {
    let server = try AcceptingServer(limits: ConnectionLimits(perPeer: 2))
    let clients = try (0..<2).map { _ in try #require(server.connect(from: "127.0.0.2")) }
    #expect(server.hasAccepted(2))
    let third = try #require(server.connect(from: "127.0.0.2"))
    #expect(third.receiveEnd() == 0)
    let other = try #require(server.connect(from: "127.0.0.3"))
    #expect(server.hasAccepted(3))
    #expect(server.refused.value.map(\.ip) == ["127.0.0.2"] && server.listener.connectionCount == 3)
    server.drop()
    #expect(eventually(within: 5) { server.listener.connectionCount == 2 })
    let fourth = try #require(server.connect(from: "127.0.0.2"))
    #expect(server.hasAccepted(3))
    #expect(server.refused.value.count == 1)
    withExtendedLifetime((clients, other, fourth)) {}
    server.listener.close()
  }

  // C8
  @Test("a connection counts until what it accepted is sent, and not while the kernel has the rest")
  func unsent() throws {
    let server = try AcceptingServer(limits: ConnectionLimits(total: 1))
    let client = try #require(server.connect())
    #expect(server.hasAccepted(1))
    let pair = server.pairs.with { $0.removeFirst() }
    let count = try fill(pair.output)
    #expect(pair.output.property(.queuedByteCount)! > 0)
    pair.close()
    pass(server.base)
    #expect(server.listener.connectionCount == 1)
    // More than is queued: the rest is in the kernel's hands, and the peer has not closed.
    #expect(client.receive(count, seconds: 10).count == count)
    #expect(eventually(within: 5) { server.listener.connectionCount == 0 })
    withExtendedLifetime(client) {}
    server.listener.close()
  }

  // C8, field report 64
  @Test("a connection that the handler does not keep ends its count")
  func ignored() throws {
    let listener = try Listener(
      address: SocketAddress(ip: "127.0.0.1", port: 0)!, limits: ConnectionLimits(total: 1, perPeer: 1))
    let base = try EventBase.startThread()
    let peers = Shared<[SocketAddress]>([])
    listener.schedule(on: base) { _, peer in peers.with { $0.append(peer) } }
    let clients = (0..<3).compactMap { _ in RawSocket(connectingTo: listener) }
    #expect(eventually(within: 5) { peers.value.count == 3 })
    #expect(clients.allSatisfy { $0.receiveEnd() == 0 })
    #expect(eventually(within: 5) { listener.connectionCount == 0 })
    listener.close()
  }

  // C7, field report 16
  @Test("paused, connections wait; resumed, the same handler gets them; from any thread, the handler's too")
  func pause() throws {
    let server = try AcceptingServer()
    server.listener.pause()
    server.listener.pause()
    #expect(server.listener.isPaused)
    let clients = try (0..<3).map { _ in try #require(server.connect()) }
    #expect(server.hasAccepted(0))
    #expect(loopTime(of: server.base, over: 0.2) < 0.1)
    server.listener.resume()
    #expect(server.hasAccepted(3) && !server.listener.isPaused)
    server.base.sync { server.listener.pause() }
    let late = try #require(server.connect())
    #expect(server.hasAccepted(3))
    server.base.sync { server.listener.resume() }
    #expect(server.hasAccepted(4))
    withExtendedLifetime((clients, late)) {}
    server.listener.close()
    server.listener.resume()
    pass(server.base)
    #expect(server.connect() == nil, "closed is closed")
  }

  // C7, field report 16
  @Test("a pause on another thread returns while a connection is being handed over, and the next one waits")
  func pauseWhileAccepting() throws {
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let base = try EventBase.startThread()
    let (inside, leave, count) = (Gate(), Gate(), Shared(0))
    listener.schedule(on: base) { _, _ in
      count.with { $0 += 1 }
      inside.open()
      _ = leave.wait(seconds: 10)
    }
    let clients = (0..<3).map { _ in RawSocket(connectingTo: listener) }
    #expect(inside.wait(seconds: 10))
    #expect(onThread { listener.pause() }.wait(seconds: 10))
    leave.open()
    pass(base)
    #expect(count.value == 1)
    listener.resume()
    #expect(eventually(within: 5) { count.value == 3 })
    withExtendedLifetime(clients) {}
    listener.close()
  }

  // C7
  @Test("pausing before scheduling holds, and so it does on another base")
  func pausedBefore() throws {
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let bases = (try EventBase.startThread(), try EventBase.startThread())
    let counts = Shared([0, 0])
    listener.pause()
    listener.schedule(on: bases.0) { _, _ in counts.with { $0[0] += 1 } }
    let client = RawSocket(connectingTo: listener)
    pass(bases.0)
    listener.schedule(on: bases.1) { _, _ in counts.with { $0[1] += 1 } }
    pass(bases.0)
    pass(bases.1)
    #expect(counts.value == [0, 0])
    listener.resume()
    #expect(eventually(within: 5) { counts.value == [0, 1] })
    withExtendedLifetime(client) {}
    listener.close()
  }

  // C9
  @Test("without descriptors, each end of an accepted connection lets the next one in at once")
  func descriptorOfOwn() async {
    await #expect(processExitsWith: .success) {
      let server = try AcceptingServer()
      let first = server.connect()
      #expect(server.hasAccepted(1))
      server.listener.pause()
      let clients = (0..<60).map { _ in server.connect() }
      #expect(clients.allSatisfy { $0 != nil })
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      limit.rlim_cur = rlim_t(processDescriptors().max()! + 1)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      // None below the limit is free: fill the holes.
      while dup(0) >= 0 {}
      server.listener.resume()
      #expect(server.hasAccepted(1))
      let begin = monotonicSeconds()
      for served in 2...61 {
        server.drop()
        #expect(eventually(within: 5) { server.peers.value.count == served })
      }
      // Only looking every tenth of a second would take six seconds.
      #expect(monotonicSeconds() - begin < 4)
      withExtendedLifetime((first, clients)) {}
    }
  }
}
