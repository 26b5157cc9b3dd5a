// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

/// Sends back what comes in, each connection on the base that it is given, and notes what was called elsewhere.
private final class EchoService: Sendable {
  private let pairs = Shared<[StreamPair]>([])
  private let shares = Shared<[ObjectIdentifier: Int]>([:])
  private let strayed = Shared(0)

  /// Calls that came on another thread than that of the connection's base.
  var strayCount: Int { strayed.value }

  /// How many connections were given to a base.
  func share(of base: EventBase) -> Int { shares.value[ObjectIdentifier(base)] ?? 0 }

  func serve(_ pair: StreamPair, on base: EventBase) {
    pairs.with { $0.append(pair) }
    shares.with { $0[ObjectIdentifier(base), default: 0] += 1 }
    // The service keeps the pairs; weak, so that a pair and its clients do not keep each other.
    pair.input.setClient(.all) { [self, weak base, weak output = pair.output] input, event in
      if base?.isCurrent != true { strayed.with { $0 += 1 } }
      guard let output else { return }
      if event == .hasBytesAvailable { pump(input, output) }
      if event == .endEncountered { output.close() }
    }
    pair.output.setClient(.all) { [self, weak base, weak input = pair.input] output, event in
      if base?.isCurrent != true { strayed.with { $0 += 1 } }
      if let input, event == .canAcceptBytes { pump(input, output) }
    }
    pair.schedule(on: base)
    pair.open()
  }

  private func pump(_ input: ReadStream, _ output: WriteStream) {
    // A short write leaves its rest to be read, once the output tells of room.
    guard output.canAcceptBytes else { return }
    input.withAvailableBytes { bytes in ((try? output.write(bytes)) ?? nil) ?? 0 }
  }
}

/// Sends `bytes` and the end, and reads to the end at the same time.
private func roundTrip(_ socket: RawSocket, _ bytes: [UInt8]) -> [UInt8]? {
  // Two threads use it, one for each direction.
  let sending = onThread {
    socket.send(bytes)
    socket.shutdownWrite()
  }
  let received = socket.receiveAll(seconds: 20)
  return sending.wait(seconds: 20) ? received : nil
}

@Suite("Several listeners share one port", .timeLimit(.minutes(2)))
struct SharedPortTests {
  /// Listeners on one port, each on a base of a group.
  private struct Shards {
    let group: EventBaseGroup
    let listeners: [Listener]
    let service = EchoService()

    init(_ count: Int, ip: String = "127.0.0.1") throws {
      group = try EventBaseGroup(count: count)
      let first = try Listener(address: SocketAddress(ip: ip, port: 0)!, reusesPort: true)
      listeners =
        try [first] + (1..<count).map { _ in try Listener(address: first.localAddress, reusesPort: true) }
      for (listener, base) in zip(listeners, group.bases) {
        listener.schedule(on: base) { [service, weak base] pair, _ in
          if let base, base.isCurrent { service.serve(pair, on: base) }
        }
      }
    }

    /// Connects until a base has got a connection, or 200 times: each goes to any of them with the same chance.
    func connect(until base: EventBase) throws -> StreamPair {
      for _ in 0..<200 {
        let before = service.share(of: base)
        let client = StreamPair(address: listeners[0].localAddress)
        client.open()
        #expect(try writeAll([7], to: client.output) == 1)
        #expect(try read(1, from: client.input) == [7])
        if service.share(of: base) > before { return client }
      }
      throw RawFailure("no connection of 200 came to the base")
    }

    func close() { for listener in listeners { listener.close() } }
  }

  // C13
  @Test(
    "each of several listeners on one port gets connections, and serves them on its own base's thread",
    arguments: ["127.0.0.1", "::1"])
  func spreads(ip: String) throws {
    let shards = try Shards(2, ip: ip)
    #expect(shards.listeners[0].localAddress == shards.listeners[1].localAddress)
    for base in shards.group.bases { _ = try shards.connect(until: base) }
    #expect(shards.service.strayCount == 0)
    shards.close()
  }

  // C13
  @Test("when one of the listeners closes, the others get all new connections, and its own go on")
  func closingOne() throws {
    let shards = try Shards(2)
    let (first, second) = (shards.group.bases[0], shards.group.bases[1])
    let early = try shards.connect(until: first)
    // On the base's thread nothing of the close is left for later.
    first.sync { shards.listeners[0].close() }
    let (firstShare, secondShare) = (shards.service.share(of: first), shards.service.share(of: second))
    for _ in 0..<40 { _ = try shards.connect(until: second) }
    #expect(shards.service.share(of: first) == firstShare)
    #expect(shards.service.share(of: second) == secondShare + 40)
    #expect(try writeAll([1, 2, 3], to: early.output) == 3)
    #expect(try read(3, from: early.input) == [1, 2, 3])
    #expect(shards.service.strayCount == 0)

    // The port can be joined again while one has it, and is free when none has.
    let third = try Listener(address: shards.listeners[1].localAddress, reusesPort: true)
    third.close()
    shards.close()
    pass(second)
    let alone = try Listener(address: shards.listeners[1].localAddress)
    alone.close()
  }

  // C13
  @Test("a listener that is not scheduled keeps its share waiting until it is")
  func unscheduledShare() throws {
    let shards = try Shards(2)
    let (first, second) = (shards.group.bases[0], shards.group.bases[1])
    shards.listeners[0].unschedule()
    pass(first)
    let sockets = try (0..<60).map { _ in try #require(RawSocket(connectingTo: shards.listeners[0])) }
    for socket in sockets { #expect(socket.send([9]) == 0) }
    #expect(shards.service.share(of: first) == 0)
    shards.listeners[0].schedule(on: first) { [service = shards.service] pair, _ in
      service.serve(pair, on: first)
    }
    for socket in sockets { #expect(socket.receive(1) == [9]) }
    #expect(shards.service.share(of: first) + shards.service.share(of: second) == 60)
    #expect(shards.service.share(of: first) > 0)
    shards.close()
  }

  // C13, C5
  @Test("a port is shared only if all of its listeners say so", arguments: [true, false])
  func allOrNone(firstShares: Bool) throws {
    let address = SocketAddress(ip: "127.0.0.1", port: 0)!
    let first = try Listener(address: address, reusesPort: firstShares)
    let error = #expect(throws: StreamError.self) {
      try Listener(address: first.localAddress, reusesPort: !firstShares)
    }
    #expect(error == .posix(EADDRINUSE, "bind"))
    first.close()
  }

  // C13
  @Test("a Unix path cannot be shared, and nothing is made there")
  func unixPath() throws {
    let directory = try SocketDirectory()
    let path = directory.file()
    let error = #expect(throws: StreamError.self) {
      try Listener(address: SocketAddress(unixPath: path), reusesPort: true)
    }
    #expect(error?.domain == .streams && error?.code == StreamError.Misuse.unsupported.rawValue)
    #expect(access(path, F_OK) != 0)
    let listener = try Listener(address: SocketAddress(unixPath: path))
    #expect(throws: StreamError.self) {
      try Listener(address: SocketAddress(unixPath: path), reusesPort: true)
    }
    #expect(access(path, F_OK) == 0)
    listener.close()
  }
}

@Suite("One listener hands connections to several bases", .timeLimit(.minutes(2)))
struct HandOverTests {
  private static let anyPort = SocketAddress(ip: "127.0.0.1", port: 0)!

  // N5, C11
  @Test("many clients at once get back what they sent, each from one of the bases in turn")
  func echo() throws {
    let front = try EventBase.startThread(named: "front")
    let group = try EventBaseGroup(count: 3)
    let listener = try Listener(address: Self.anyPort)
    let service = EchoService()
    listener.schedule(on: front) { pair, _ in service.serve(pair, on: group.next()) }
    let right = Shared(0)
    let clients = (0..<24).map { number in
      onThread {
        guard let socket = RawSocket(connectingTo: listener) else { return }
        let bytes = Array(Pattern.bytes(at: number * 1_000, 40_000 + number))
        if roundTrip(socket, bytes) == bytes { right.with { $0 += 1 } }
      }
    }
    for client in clients { #expect(client.wait(seconds: 60)) }
    #expect(right.value == 24)
    #expect(group.bases.map(service.share) == [8, 8, 8])
    #expect(service.strayCount == 0)
    listener.close()
  }

  enum Step: CaseIterable { case client, schedule, open }
  private static let orders: [[Step]] = [
    [.client, .schedule, .open], [.client, .open, .schedule], [.schedule, .client, .open],
    [.schedule, .open, .client], [.open, .client, .schedule], [.open, .schedule, .client],
  ]

  // N5, C11, S100
  @Test(
    "whatever the order of client, schedule and open on the accepting thread, what came before is delivered",
    arguments: orders)
  func earlyBytes(order: [Step]) throws {
    let front = try EventBase.startThread(named: "front")
    let group = try EventBaseGroup(count: 2)
    let listener = try Listener(address: Self.anyPort)
    // All of it is there before the first is accepted: the bytes, and the end.
    let clients = try (0..<20).map { number in
      let socket = try #require(RawSocket(connectingTo: listener))
      #expect(socket.send(pattern(500 + number)) == 0)
      socket.shutdownWrite()
      return socket
    }
    let logs = Shared<[PairLog]>([])
    let pairs = Shared<[StreamPair]>([])
    let strays = Shared(0)
    listener.schedule(on: front) { pair, _ in
      let (base, log) = (group.next(), PairLog())
      pairs.with { $0.append(pair) }
      logs.with { $0.append(log) }
      for step in order {
        switch step {
        case .client:
          // Told apart from the base's thread, whichever step comes first.
          let note: @Sendable () -> Void = { [weak base] in
            if base?.isCurrent != true { strays.with { $0 += 1 } }
          }
          log.watch(pair, input: { _, _ in note() }, output: { _, _ in note() })
        case .schedule: pair.schedule(on: base)
        case .open: pair.open()
        }
      }
    }
    #expect(eventually(within: 10) { logs.value.count == 20 })
    for log in logs.value { #expect(log.hears(.endEncountered, .input)) }
    for base in group.bases { pass(base) }
    #expect(logs.value.map(\.bytes.count).sorted() == (500..<520).map { $0 })
    for log in logs.value {
      #expect(log.bytes == pattern(log.bytes.count))
      #expect(log.events(.input) == [.openCompleted, .hasBytesAvailable, .endEncountered])
      #expect(log.events(.output) == [.openCompleted, .canAcceptBytes])
    }
    #expect(strays.value == 0)
    withExtendedLifetime(clients) {}
    pairs.with { $0 = [] }
    listener.close()
  }

  // N5, C11, S110, S111
  @Test("an accepted pair that moves among the bases under load loses and repeats nothing")
  func moves() throws {
    let front = try EventBase.startThread(named: "front")
    let near = try EventBase.startThread(named: "near")
    let group = try EventBaseGroup(count: 3)
    let listener = try Listener(address: Self.anyPort)
    // A call on the listener's base, or on the other end's, is a fault.
    let (sink, source) = (Sink(on: group.bases), Source(on: group.bases))
    let (nearSink, nearSource) = (Sink(on: [near]), Source(on: [near]))
    let accepted = Shared<StreamPair?>(nil)
    listener.schedule(on: front) { pair, _ in
      sink.start(pair.input)
      source.start(pair.output)
      pair.schedule(on: group.next())
      accepted.with { $0 = pair }
    }
    let client = StreamPair(address: listener.localAddress)
    nearSink.start(client.input)
    nearSource.start(client.output)
    client.schedule(on: near)
    #expect(eventually(within: 10) { accepted.value != nil })
    let pair = try #require(accepted.value)
    for number in 0..<200 {
      pair.schedule(on: group.next())
      if number % 3 == 0 { continue }
      let (before, nearBefore) = (sink.received, nearSink.received)
      try #require(
        eventually(within: 20) { sink.received > before && nearSink.received > nearBefore },
        "nothing moves after move \(number)")
    }
    source.stop()
    nearSource.stop()
    #expect(sink.finished.wait(seconds: 20) && nearSink.finished.wait(seconds: 20))
    #expect(sink.received == nearSource.sent && nearSink.received == source.sent)
    #expect(sink.faults + source.faults + nearSink.faults + nearSource.faults == [])
    for visits in [sink, source, nearSink, nearSource] { #expect(visits.count(.openCompleted) == 1) }
    listener.close()
  }
}
