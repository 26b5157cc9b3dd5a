// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Field reports: staying connected", .timeLimit(.minutes(2)))
struct ReconnectRegressions {
  // Field report 70, M2
  @Test("70: several attempts live at once, and the server sees many clients")
  func oneAttempt() throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    let log = ReconnectLog()
    let policy = ReconnectPolicy(initialDelay: .milliseconds(100), jitter: 0)
    let client = log.client(on: base, policy, to: server.address)
    client.start()
    client.start()
    client.connectNow()
    #expect(eventually { log.attempts >= 4 }, "down for a while: 0.1 + 0.2 + 0.4 s")
    try server.comeUp()
    #expect(eventually { log.connections == 1 })
    client.start()
    client.connectNow()
    #expect(!eventually(within: 0.5) { server.accepted > 1 }, "one connection")
    server.goDown()
    for pair in log.pairs { pair.close() }
    #expect(eventually { log.isWaiting })
    client.stop()
    let attempts = log.attempts
    try server.comeUp()
    #expect(!eventually(within: 0.5) { server.accepted > 1 || log.attempts > attempts }, "stop means no more")
  }

  // Field report 71
  @Test("71: the count of attempts is not reset, so a later connect by hand gives up early")
  func count() throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    let log = ReconnectLog()
    let client = log.client(on: base, .quick(1, attempts: 3), to: server.address)
    client.start()
    #expect(eventually { log.hasGivenUp && log.attempts == 3 })
    try server.comeUp()
    client.connectNow()
    #expect(eventually { log.connections == 1 })
    server.goDown()
    log.pairs[0].close()
    #expect(eventually { log.hasGivenUp })
    let entries = log.entries.drop { $0 != .connected }
    let numbers = entries.compactMap { if case .connecting(let number) = $0 { number } else { nil } }
    #expect(numbers == [1, 2, 3], "three more failures, counted from one")
    withExtendedLifetime(client) {}
  }

  /// Closes each connection as soon as it hears of its end, from inside that notice.
  private static func run(rounds: Int, to address: SocketAddress, on base: EventBase) -> Int {
    let (done, ended) = (Gate(), Shared(0))
    let client = ReconnectingClient(on: base, policy: .quick(1), makePair: { StreamPair(address: address) }) {
      [weak base] client, event in
      guard case .connected(let pair) = event, let base else { return }
      pair.input.setClient([.endEncountered, .errorOccurred]) { [weak client] _, _ in
        if ended.with({
          $0 += 1
          return $0
        }) == rounds {
          client?.stop()
          done.open()
        }
        pair.close()
      }
      pair.schedule(on: base)
    }
    client.start()
    _ = done.wait(seconds: 60)
    return ended.value
  }

  // Field report 10
  @Test("10: a server that closes each connection at once leaves nothing behind after 200 rounds")
  func closedAtOnce() async {
    await #expect(processExitsWith: .success) {
      let server = try ComingServer(.close)
      try server.comeUp()
      let base = try EventBase.startThread()
      #expect(ReconnectRegressions.run(rounds: 1, to: server.address, on: base) == 1)
      pass(base)
      let count = settledSocketCount()
      #expect(ReconnectRegressions.run(rounds: 200, to: server.address, on: base) == 200)
      // The server counts a connection when it has closed it.
      #expect(eventually { server.accepted >= 201 })
      #expect(eventually(within: 5) { openSocketCount() == count })
    }
  }

  // Field report 62
  @Test("62: a second connect while one is under way is half accepted, and both fail")
  func secondConnect() throws {
    let base = try EventBase.startThread()
    let hole = try BlackHole()
    let (log, attempts) = (ReconnectLog(), Shared<[StreamPair]>([]))
    let client = ReconnectingClient(
      on: base, policy: .patient,
      makePair: {
        let pair = StreamPair(address: SocketAddress(ip: "127.0.0.1", port: hole.port)!)
        attempts.with { $0.append(pair) }
        return pair
      }
    ) { _, event in log.note(event, on: base) }
    client.start()
    #expect(eventually { attempts.value.first?.output.status == .opening })
    client.start()
    client.connectNow()
    let first = hole.open()
    // The kernel sends what it held back when it tries again, a second later.
    #expect(eventually(within: 20) { log.connections == 1 })
    #expect(log.entries == [.connecting(1), .connected] && attempts.value.count == 1)
    client.stop()
    withExtendedLifetime(first) {}
  }
}
