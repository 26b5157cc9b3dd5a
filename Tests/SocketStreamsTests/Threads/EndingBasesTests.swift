// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("Bases that end under their streams", .timeLimit(.minutes(2)))
struct EndingBasesTests {
  enum End: CaseIterable { case stop, invalidate, invalidateInside }

  // S100, S119, D14.
  @Test(
    "streams come off a base that ends, can be polled, and deliver on the next base what was missed",
    arguments: [Carrier.direct, .bound], End.allCases)
  func moveOn(carrier: Carrier, end: End) throws {
    let (first, second) = (
      try EventBase.startThread(named: "first"), try EventBase.startThread(named: "second")
    )
    let link = try carrier.connect()
    if carrier != .bound { link.far.open() }
    let events = Shared<[StreamEvent]>([])
    let told = Signal()
    link.near.input.setClient(.all) { stream, event in
      if event == .hasBytesAvailable { _ = try? stream.read(upTo: 100) }
      events.with { $0.append(event) }
      told.raise()
    }
    link.near.schedule(on: first)
    try link.far.output.write([1])
    #expect(told.wait(2, seconds: 20))
    switch end {
    case .stop: first.stop()
    case .invalidate: first.invalidate()
    case .invalidateInside: first.sync { first.invalidate() }
    }
    first.join()

    try link.far.output.write([2, 3])
    #expect(eventually { link.near.input.hasBytesAvailable })
    #expect(link.near.output.canAcceptBytes)
    #expect(events.value == [.openCompleted, .hasBytesAvailable])
    // A base that has ended is as good as none.
    link.near.schedule(on: first)
    first.execute { link.near.schedule(on: first) }
    first.sync {}
    #expect(events.value == [.openCompleted, .hasBytesAvailable])

    link.near.schedule(on: second)
    #expect(told.wait(seconds: 20))
    link.far.output.close()
    #expect(told.wait(seconds: 20))
    #expect(events.value == [.openCompleted, .hasBytesAvailable, .hasBytesAvailable, .endEncountered])
    link.near.close()
    second.stop()
    second.join()
  }

  // S119: the base that the bufferevent lives on takes the connection with it.
  @Test("a bufferevent whose base ends fails its streams, which tell it on the next base")
  func bufferevent() throws {
    let (first, second) = (
      try EventBase.startThread(named: "first"), try EventBase.startThread(named: "second")
    )
    let listener = try RawListener()
    var options = ConnectionOptions()
    options.transport = .bufferevent
    let pair = StreamPair(host: "127.0.0.1", port: listener.port, options: options)
    let failed = Signal()
    for stream in [pair.input, pair.output] as [SocketStream] { stream.schedule(on: first) }
    pair.input.setClient(.errorOccurred) { _, _ in if second.isCurrent { failed.raise() } }
    pair.output.setClient(.errorOccurred) { _, _ in if second.isCurrent { failed.raise() } }
    pair.open()
    let peer = try #require(listener.accept())
    #expect(eventually { pair.output.status == .open })
    _ = try pair.output.write([1])
    #expect(peer.receive(1) == [1])
    first.stop()
    first.join()
    #expect(eventually { throwing { _ = try pair.output.write([2]) } != nil })
    pair.schedule(on: second)
    #expect(failed.wait(2, seconds: 20))
    #expect(pair.input.error?.domain == .posix)
    #expect(pair.input.error == pair.output.error)
    pair.close()
    second.stop()
    second.join()
  }

  // S22, S119.
  @Test(
    "the last release of a base leaves alone the streams that have moved to another",
    arguments: Carrier.allCases)
  func lastRelease(carrier: Carrier) throws {
    let base = try EventBase.startThread(named: "stays")
    let link = try carrier.connect()
    let source = Source(on: [base])
    let sink = Sink(on: [base])
    do {
      let leaving = try EventBase.startThread(named: "leaves")
      link.near.input.schedule(on: leaving)
      link.far.output.schedule(on: leaving)
      link.near.input.schedule(on: base)
      link.far.output.schedule(on: base)
    }
    sink.start(link.near.input)
    source.start(link.far.output)
    #expect(eventually { sink.received > 50_000 })
    source.stop()
    #expect(sink.finished.wait(seconds: 20))
    #expect(sink.received == source.sent)
    #expect(sink.faults + source.faults == [])
    base.stop()
    base.join()
  }

  // S22, S119: scheduled streams keep their base.
  @Test("a base whose owner let go of it runs on while a stream is scheduled, and ends with that")
  func keptByStream() throws {
    let (near, far) = try StreamPair.connected()
    let tokens = Tokens()
    let told = Signal()
    near.open()
    far.open()
    do {
      let base = try EventBase.startThread(named: "kept")
      base.schedule(after: .seconds(600)) { [token = tokens.make()] in withExtendedLifetime(token) {} }
      near.input.setClient(.hasBytesAvailable) { stream, _ in
        _ = try? stream.read(upTo: 10)
        told.raise()
      }
      near.input.schedule(on: base)
    }
    for _ in 0..<3 {
      try far.output.write([1])
      #expect(told.wait(seconds: 20))
    }
    #expect(tokens.count == 1)
    near.input.close()
    // The base has ended once its timer is gone.
    #expect(eventually { tokens.count == 0 })
  }

  /// What `body` throws, if anything.
  private func throwing(_ body: () throws -> Void) -> (any Error)? {
    do {
      try body()
      return nil
    } catch { return error }
  }
}
