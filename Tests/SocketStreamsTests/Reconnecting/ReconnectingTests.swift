// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Clients that stay connected", .timeLimit(.minutes(2)))
struct ReconnectingTests {
  static let transports: [ConnectionOptions.Transport] = [.direct, .bufferevent]

  private func options(_ transport: ConnectionOptions.Transport) -> ConnectionOptions {
    var options = ConnectionOptions()
    options.transport = transport
    return options
  }

  // M1, A23
  @Test("what it hands over is open, and both its clients are told everything", arguments: transports)
  func handsOver(_ transport: ConnectionOptions.Transport) throws {
    let base = try EventBase.startThread()
    let server = try ComingServer(.say(Array("hello".utf8)))
    try server.comeUp()
    let (log, streams, statuses) = (ReconnectLog(), PairLog(), Shared<[StreamStatus]>([]))
    let client = log.client(on: base, .patient, to: server.address, options: options(transport)) { _, event in
      guard case .connected(let pair) = event else { return }
      statuses.with { $0 = [pair.input.status, pair.output.status] }
      streams.watch(pair, on: base)
    }
    client.start()
    #expect(streams.hears(.endEncountered, .input))
    #expect(streams.hears(.canAcceptBytes, .output))
    #expect(statuses.value == [.open, .open])
    #expect(streams.events(.input).first == .openCompleted && streams.bytes == Array("hello".utf8))
    #expect(streams.events(.output) == [.openCompleted, .canAcceptBytes])
    #expect(log.entries == [.connecting(1), .connected])
    #expect(log.strayCount == 0 && streams.strayCount == 0)
    client.stop()
  }

  // A23
  @Test("streams that were handed over move bytes, on another base too", arguments: transports)
  func works(_ transport: ConnectionOptions.Transport) throws {
    let (base, other) = (try EventBase.startThread(), try EventBase.startThread())
    let server = try ComingServer()
    try server.comeUp()
    let (log, streams) = (ReconnectLog(), PairLog())
    let client = log.client(on: base, .patient, to: server.address, options: options(transport)) { _, event in
      if case .connected(let pair) = event { streams.watch(pair, on: other) }
    }
    client.start()
    #expect(eventually { server.sockets.count == 1 && streams.hears(.canAcceptBytes, .output) })
    let socket = server.sockets[0]
    #expect(try log.pairs[0].output.write(pattern(1_000)) == 1_000)
    #expect(socket.receive(1_000) == pattern(1_000))
    #expect(socket.send(pattern(70_000)) == 0)
    #expect(eventually { streams.bytes.count == 70_000 })
    #expect(streams.bytes == pattern(70_000) && streams.strayCount == 0)
    client.stop()
  }

  // A23
  @Test("readers and writers of frames take over what it hands over, hear of the opening, and end it")
  func frames() throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    try server.comeUp()
    let (log, framed, heard) = (ReconnectLog(), Shared<[FramedPair]>([]), Shared<[String]>([]))
    let client = log.client(on: base, .quick(), to: server.address, keeping: false) { _, event in
      guard case .connected(let pair) = event else { return }
      let reader = FramedReader(pair.input, on: base) { _, event in
        switch event {
        case .opened: heard.with { $0.append("read opened") }
        case .frame(let bytes, _): heard.with { $0.append(String(decoding: bytes, as: UTF8.self)) }
        default: break
        }
      }
      let writer = FramedWriter(pair.output, on: base) { _, event in
        if case .opened = event { heard.with { $0.append("write opened") } }
      }
      reader.read(.line())
      writer.write(Array("question\n".utf8))
      framed.with { $0 = [FramedPair(reader: reader, writer: writer)] }
    }
    client.start()
    for round in 1...3 {
      #expect(eventually { server.sockets.count == round && framed.value.count == 1 })
      #expect(server.sockets[round - 1].receive(9) == Array("question\n".utf8))
      server.sockets[round - 1].send(Array("answer\r\n".utf8))
      #expect(eventually { heard.value.count == 3 }, "\(heard.value)")
      #expect(Set(heard.value) == ["read opened", "write opened", "answer"])
      heard.with { $0 = [] }
      let pair = framed.with { pairs in
        defer { pairs = [] }
        return pairs[0]
      }
      pair.close()
    }
    client.stop()
  }

  // M1
  @Test("a connection that ended is over when its owner closes it, and not before")
  func ownerCloses() throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    try server.comeUp()
    let (log, streams) = (ReconnectLog(), PairLog())
    let client = log.client(on: base, .quick(), to: server.address) { _, event in
      if case .connected(let pair) = event { streams.watch(pair, on: base) }
    }
    client.start()
    #expect(eventually { log.connections == 1 && server.accepted == 1 })
    server.closeConnections()
    #expect(streams.hears(.endEncountered, .input))
    #expect(stays { log.entries == [.connecting(1), .connected] })
    log.pairs[0].close()
    #expect(eventually { log.connections == 2 && server.accepted == 2 })
    #expect(
      Array(log.entries.dropFirst(2)) == [.waiting(.milliseconds(5), nil), .connecting(1), .connected])
    client.stop()
  }

  // M1, F12
  @Test("a connection that is aborted, or dropped, is over", arguments: [true, false])
  func endsOtherwise(_ isAborted: Bool) throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    try server.comeUp()
    let log = ReconnectLog()
    let client = log.client(on: base, .quick(), to: server.address)
    client.start()
    for round in 1...5 {
      #expect(eventually { log.connections == round && server.accepted == round }, "\(log.entries)")
      if isAborted { log.pairs.last?.abort() }
      log.dropPairs()
    }
    client.stop()
  }

  // M1
  @Test("a pair that the handler does not keep is closed, and the next attempt follows after a wait")
  func notKept() throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    try server.comeUp()
    let log = ReconnectLog()
    let client = log.client(on: base, .quick(1), to: server.address, keeping: false)
    client.start()
    #expect(eventually { log.connections >= 5 })
    client.stop()
    pass(base)
    #expect(log.waits.allSatisfy { $0 == .milliseconds(1) }, "each success starts the waits afresh")
    // Each connection saw its end.
    #expect(eventually { server.accepted >= log.connections })
    let sockets = server.sockets
    for socket in sockets { #expect(socket.receiveEnd() == 0) }
  }

  // M1
  @Test("while the server is down the waits grow up to the longest; each tells why")
  func grows() throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    let log = ReconnectLog()
    let policy = ReconnectPolicy(
      initialDelay: .milliseconds(2), factor: 2, maximumDelay: .milliseconds(10), jitter: 0)
    let client = log.client(on: base, policy, to: server.address)
    let start = monotonicSeconds()
    client.start()
    #expect(eventually { log.waits.count >= 6 })
    let passed = monotonicSeconds() - start
    client.stop()
    #expect(Array(log.waits.prefix(5)) == [2, 4, 8, 10, 10].map { Duration.milliseconds($0) })
    #expect(passed >= 0.034, "none is cut short")
    #expect(log.errors.allSatisfy { $0.domain == .posix && $0.code == ECONNREFUSED })
    let attempts = log.entries.compactMap { if case .connecting(let number) = $0 { number } else { nil } }
    #expect(attempts == Array(1...attempts.count))
  }

  // M1
  @Test("a limit of attempts ends in giving up, with the last error")
  func limit() throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    let log = ReconnectLog()
    let client = log.client(on: base, .quick(1, attempts: 3), to: server.address)
    client.start()
    #expect(eventually { log.hasGivenUp })
    #expect(log.attempts == 3 && log.waits.count == 2)
    guard case .gaveUp(let error)? = log.entries.last else { return }
    #expect(error.code == ECONNREFUSED && error.attempts.map(\.address) == [server.address])
    #expect(stays { log.attempts == 3 })
    client.start()
    #expect(eventually { log.attempts == 6 && log.hasGivenUp })
    withExtendedLifetime(client) {}
  }

  // M2
  @Test("a connect by hand cuts a wait short")
  func byHand() throws {
    let base = try EventBase.startThread()
    let server = try ComingServer()
    let log = ReconnectLog()
    let client = log.client(on: base, .patient, to: server.address)
    client.start()
    #expect(eventually { log.isWaiting })
    try server.comeUp()
    client.connectNow()
    #expect(eventually { log.connections == 1 && server.accepted == 1 })
    client.connectNow()
    client.start()
    #expect(stays { log.attempts == 2 && server.accepted == 1 }, "there is a connection: no second one")
    client.stop()
  }

  @Test("what cannot be a place fails like any attempt")
  func badPlace() throws {
    let base = try EventBase.startThread()
    let log = ReconnectLog()
    let client = ReconnectingClient(
      host: "", port: 80, on: base, policy: .quick(1, attempts: 2)
    ) { _, event in log.note(event, on: base) }
    client.start()
    #expect(eventually { log.hasGivenUp })
    #expect(log.errors.map(\.code) == [StreamError.Misuse.badAddress.rawValue])
    withExtendedLifetime(client) {}
  }

  @Test("an attempt that takes too long fails, and so does one whose streams are closed")
  func failedAttempts() throws {
    let base = try EventBase.startThread()
    let hole = try BlackHole()
    let (log, pairs) = (ReconnectLog(), Shared<[StreamPair]>([]))
    var options = ConnectionOptions()
    options.connectTimeout = .milliseconds(20)
    let client = ReconnectingClient(
      on: base, policy: .quick(1, attempts: 2),
      makePair: { [options] in
        let isFirst = pairs.value.isEmpty
        let address = SocketAddress(ip: "127.0.0.1", port: hole.port)!
        let pair = StreamPair(address: address, options: isFirst ? options : ConnectionOptions())
        pairs.with { $0.append(pair) }
        return pair
      }
    ) { _, event in log.note(event, on: base) }
    client.start()
    #expect(eventually { pairs.value.count == 2 })
    #expect(log.errors.map(\.code) == [ETIMEDOUT])
    #expect(eventually { pairs.value[1].output.status == .opening })
    pairs.value[1].close()
    #expect(eventually { log.hasGivenUp })
    withExtendedLifetime((client, hole)) {}
  }
}
