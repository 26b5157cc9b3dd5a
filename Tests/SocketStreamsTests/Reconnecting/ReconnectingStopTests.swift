// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Stopping clients that stay connected", .timeLimit(.minutes(2)))
struct ReconnectingStopTests {
  // Field report 70
  @Test("stopped during a wait, it does nothing more, and lets go of everything")
  func duringWait() throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    let (log, leaks) = (ReconnectLog(), LeakCheck())
    do {
      let kept = Token()
      leaks.watch(object: kept)
      let client = log.client(on: base, .patient, to: server.address) { _, _ in
        withExtendedLifetime(kept) {}
      }
      leaks.watch(object: client)
      client.start()
      #expect(eventually { log.isWaiting })
      client.stop()
    }
    leaks.expectNone()
    #expect(stays { log.entries.count == 2 })
  }

  // Field report 70
  @Test("stopped while it connects, it closes the attempt's socket and tells nothing")
  func whileConnecting() throws {
    let base = try EventBase.startThread()
    let hole = try BlackHole()
    let (log, leaks, pairs) = (ReconnectLog(), LeakCheck(), Shared<[StreamPair]>([]))
    do {
      let client = ReconnectingClient(
        on: base, policy: .quick(1),
        makePair: {
          let pair = StreamPair(address: SocketAddress(ip: "127.0.0.1", port: hole.port)!)
          pairs.with { $0.append(pair) }
          return pair
        }
      ) { _, event in log.note(event, on: base) }
      client.start()
      #expect(eventually { pairs.value.first?.output.status == .opening })
      leaks.watch(pair: pairs.value[0])
      client.stop()
      #expect(pairs.value[0].output.status == .closed)
      pairs.with { $0 = [] }
      #expect(stays { log.entries == [.connecting(1)] })
    }
    leaks.expectNone()
    withExtendedLifetime(hole) {}
  }

  /// The handler stops its client at the first event that this fits.
  static let moments: [(name: String, fits: @Sendable (ReconnectLog.Entry) -> Bool)] = [
    ("connecting", { if case .connecting = $0 { true } else { false } }),
    ("connected", { $0 == .connected }),
    ("waiting", { if case .waiting = $0 { true } else { false } }),
    ("the second attempt", { $0 == .connecting(2) }),
    ("giving up", { if case .gaveUp = $0 { true } else { false } }),
  ]

  @Test(
    "after a stop on the thread of the base nothing is told, and a start goes on afterwards",
    arguments: moments.indices)
  func inHandler(_ index: Int) throws {
    let moment = Self.moments[index]
    let base = try EventBase.startThread()
    let server = try ComingServer()
    if moment.name == "connected" { try server.comeUp() }
    let (log, stopped) = (ReconnectLog(), Shared(-1))
    let client = log.client(on: base, .quick(1, attempts: 3), to: server.address, keeping: false) {
      [log] client, _ in
      guard stopped.value < 0, let last = log.entries.last, moment.fits(last) else { return }
      client.stop()
      stopped.with { $0 = log.entries.count }
    }
    client.start()
    #expect(eventually { stopped.value >= 0 })
    #expect(stays { log.entries.count == stopped.value }, "\(log.entries)")
    client.start()
    #expect(eventually { log.entries.count > stopped.value })
    #expect(log.entries[stopped.value] == .connecting(1))
    client.stop()
  }

  @Test("a handler that stops and starts its client is called again, never inside its own call")
  func restartInHandler() throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    let (log, other) = (ReconnectLog(), Shared(0))
    let client = log.client(on: base, .quick(1), to: server.address) { client, _ in
      client.stop()
      client.start()
      client.connectNow()
    }
    base.sync {
      client.start()
      base.execute { other.with { $0 = log.attempts } }
    }
    #expect(eventually { log.attempts >= 100 })
    #expect(other.value < 10, "other work of the loop gets its turn")
    client.stop()
    #expect(log.nestedCount == 0 && log.strayCount == 0)
  }

  @Test("a stop leaves a connection to its owner, and a start counts it again")
  func keepsConnection() throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    try server.comeUp()
    let log = ReconnectLog()
    let client = log.client(on: base, .quick(1), to: server.address)
    client.start()
    #expect(eventually { log.connections == 1 && server.sockets.count == 1 })
    client.stop()
    #expect(try log.pairs[0].output.write([7]) == 1)
    #expect(server.sockets[0].receive(1) == [7])
    client.start()
    #expect(stays { log.entries.count == 2 && server.accepted == 1 })
    log.pairs[0].close()
    #expect(eventually { log.connections == 2 && server.accepted == 2 })
    client.stop()
    log.pairs[1].close()
    #expect(stays { server.accepted == 2 }, "lost while stopped")
  }

  @Test("a client that is dropped is stopped, and its handler goes with it", arguments: [true, false])
  func dropped(_ isUp: Bool) throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    if isUp { try server.comeUp() }
    let (log, leaks) = (ReconnectLog(), LeakCheck())
    do {
      let kept = Token()
      leaks.watch(object: kept)
      let client = log.client(on: base, .quick(1), to: server.address, keeping: false) { _, _ in
        withExtendedLifetime(kept) {}
      }
      client.start()
      #expect(eventually { log.attempts >= 3 })
    }
    leaks.expectNone()
    let count = log.entries.count
    #expect(stays { log.entries.count == count })
  }

  @Test("a client may be dropped by its own handler")
  func droppedInHandler() throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    let (log, leaks, holder) = (ReconnectLog(), LeakCheck(), Shared<ReconnectingClient?>(nil))
    do {
      let client = log.client(on: base, .quick(1), to: server.address) { _, _ in
        if log.attempts == 2 { _ = holder.with { $0.take() } }
      }
      leaks.watch(object: client)
      holder.with { $0 = client }
    }
    holder.value?.start()
    #expect(eventually { log.attempts == 2 })
    leaks.expectNone()
    #expect(stays { log.attempts == 2 })
  }

  @Test(
    "a base that ends stops its clients; one that has ended, or never runs, does nothing and keeps nothing")
  func bases() throws {
    let hole = try BlackHole()
    let address = SocketAddress(ip: "127.0.0.1", port: hole.port)!
    let (log, leaks) = (ReconnectLog(), LeakCheck())
    do {
      let base = try EventBase.startThread()
      leaks.watch(object: base)
      let client = log.client(on: base, .quick(1), to: address)
      leaks.watch(object: client)
      client.start()
      #expect(eventually { log.attempts == 1 })
      base.stop()
      base.join()
      client.start()
      client.stop()
      client.connectNow()
    }
    do {
      let base = try EventBase()
      leaks.watch(object: base)
      let client = log.client(on: base, .quick(1), to: address)
      leaks.watch(object: client)
      client.start()
    }
    do {
      let base = try EventBase()
      leaks.watch(object: base)
      let client = log.client(on: base, .quick(1), to: address) { [weak base] _, _ in base?.stop() }
      leaks.watch(object: client)
      client.start()
      base.run()
      // Nobody runs the base now.
      client.stop()
      client.start()
    }
    leaks.expectNone()
    #expect(log.attempts == 2)
    withExtendedLifetime(hole) {}
  }

  // M2
  @Test("whatever threads start, stop and connect at once, there is one attempt or connection at a time")
  func manyThreads() throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    try server.comeUp()
    let (log, streams, worst) = (ReconnectLog(), Shared<[WeakStream]>([]), Shared(0))
    let address = server.address
    let client = ReconnectingClient(
      on: base, policy: .quick(1),
      makePair: {
        let pair = StreamPair(address: address)
        let live = streams.with { streams in
          streams.removeAll { $0.stream == nil }
          let live = streams.count { $0.isLive }
          streams.append(WeakStream(pair.output))
          return live
        }
        worst.with { $0 = max($0, live) }
        return pair
      }
    ) { _, event in
      log.note(event, on: base, keeping: false)
      guard case .connected(let pair) = event else { return }
      pair.input.setClient([.endEncountered, .errorOccurred]) { _, _ in pair.close() }
      pair.schedule(on: base)
      base.schedule(after: .milliseconds(1)) { pair.close() }
    }
    let end = monotonicSeconds() + 5
    let threads = (0..<4).map { number in
      onThread {
        var generator = SeededGenerator(seed: UInt64(number))
        while log.connections < 30, monotonicSeconds() < end {
          switch generator.below(6) {
          case 0: client.start()
          case 1: client.stop()
          case 2: client.connectNow()
          // Makes the script last, and waits for nothing.
          default: usleep(UInt32(generator.below(1_000)))
          }
        }
      }
    }
    for thread in threads { #expect(thread.wait(seconds: 60)) }
    client.stop()
    pass(base)
    let count = log.entries.count
    #expect(worst.value == 0, "attempts or connections beside a new one")
    #expect(stays { log.entries.count == count })
    #expect(log.attempts > 10 && log.attempts > log.connections, "attempts were given up too")
    #expect(log.strayCount == 0 && log.nestedCount == 0)
    client.connectNow()
    #expect(eventually { log.entries.count > count })
    client.stop()
    server.closeConnections()
    #expect(eventually { streams.with { $0.allSatisfy { !$0.isLive } } })
  }
}

private final class Token: Sendable {}

/// A stream that is watched without being kept.
private struct WeakStream: @unchecked Sendable {
  // Set once, and read by whoever holds the lock around it.
  weak var stream: WriteStream?
  init(_ stream: WriteStream) { self.stream = stream }
  var isLive: Bool { stream.map { [.opening, .open].contains($0.status) } ?? false }
}
