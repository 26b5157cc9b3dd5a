// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Taking the security off a pair", .timeLimit(.minutes(2)))
struct SecurityEndTests {
  static let transports: [ConnectionOptions.Transport] = [.direct, .bufferevent]
  private let base: EventBase
  private let peerKey = StreamProperty<String>(.securityPeer)

  init() throws { base = try EventBase.startThread(named: "test") }

  enum Drivers: CaseIterable { case both, readerAlone, writerAlone, nobody, separate }

  // J14. Whoever is on a loop, or waits, gets it done.
  @Test(
    "when both have said the end, bytes are plain, those that came with the peer's word first",
    arguments: Drivers.allCases, transports)
  func inTurn(drivers: Drivers, transport: ConnectionOptions.Transport) throws {
    let link = try ToyLink(transport)
    let pair = link.pair
    let second = try EventBase.startThread()
    defer { second.stop() }
    switch drivers {
    case .both: pair.schedule(on: base)
    case .readerAlone: pair.input.schedule(on: base)
    case .writerAlone: pair.output.schedule(on: base)
    case .separate:
      pair.input.schedule(on: base)
      pair.output.schedule(on: second)
    case .nobody: break
    }
    #expect(try pair.output.write([1, 2, 3]) == 3)
    try pair.stopSecuring()
    #expect(link.receiveRecords(3) == [1, 2, 3] && link.peer.receive(3) == ToyLink.end)
    #expect(try pair.output.write([4]) == nil)
    #expect(!pair.output.canAcceptBytes && pair.input.property(peerKey) == "toy")
    link.peer.send(ToyLink.record([7]) + ToyLink.end + Array("plain".utf8))
    #expect(try read(1, from: pair.input) == [7])
    #expect(pair.output.waitUntilReady(timeout: .seconds(5)) && pair.output.canAcceptBytes)
    #expect(pair.input.property(peerKey) == nil)
    #expect(pair.input.property(StreamProperty<ToySettings>(.securitySettings)) == nil)
    #expect(try read(5, from: pair.input) == Array("plain".utf8))
    #expect(pair.input.property(.bytesRead) == 6)
    try pair.output.write(moving: StreamBuffer(pattern(200_000)))
    #expect(link.peer.receive(200_000) == pattern(200_000))
    link.peer.send(pattern(1_000))
    #expect(try read(1_000, from: pair.input) == pattern(1_000))
    // The end is the connection's own again.
    link.peer.shutdownWrite()
    #expect(try read(1, from: pair.input) == [] && pair.input.status == .atEnd)
    pair.close()
    #expect(link.peer.receiveEnd() == 0)
  }

  // J14
  @Test("events are those of a pair that has just opened", arguments: transports)
  func events(transport: ConnectionOptions.Transport) throws {
    let link = try ToyLink(transport)
    let log = PairLog()
    log.watch(link.pair, on: base)
    #expect(log.hears(.canAcceptBytes, .output))
    let before = log.events(.output).count
    try base.sync { try link.pair.stopSecuring() }
    #expect(link.peer.receive(3) == ToyLink.end)
    pass(base)
    #expect(log.events(.output).count == before)
    link.peer.send(ToyLink.end)
    #expect(eventually { log.events(.output).count == before + 1 })
    link.peer.send([5])
    #expect(eventually { log.bytes == [5] })
    #expect(log.events(.output).last == .canAcceptBytes && log.strayCount == 0)
    #expect(!log.all.contains(.endEncountered) && !log.all.contains(.errorOccurred))
    link.pair.close()
  }

  // J14
  @Test("what was queued before goes out secured, what is moved in afterwards waits and goes plain")
  func queued() throws {
    for isScheduled in [true, false] {
      let link = try ToyLink()
      if isScheduled { link.pair.schedule(on: base) }
      try link.pair.output.write(moving: StreamBuffer(pattern(300_000)))
      try link.pair.stopSecuring()
      try link.pair.output.write(moving: StreamBuffer(Array("plain".utf8)))
      #expect(link.pair.output.property(.queuedByteCount)! >= 5)
      #expect(link.receiveRecords(300_000) == pattern(300_000))
      #expect(link.peer.receive(3) == ToyLink.end)
      link.peer.send(ToyLink.end)
      #expect(link.peer.receive(5) == Array("plain".utf8))
      #expect(eventually { link.pair.output.property(.queuedByteCount) == 0 })
      link.pair.close()
    }
  }

  // J14
  @Test("what a writer of frames has queued goes out secured, and what it gets later plain")
  func frames() throws {
    let link = try ToyLink()
    let writer = FramedWriter(link.pair.output, on: base)
    writer.write(pattern(100_000), tag: 1)
    try link.pair.stopSecuring()
    writer.write([9], tag: 2)
    #expect(link.receiveRecords(100_000) == pattern(100_000) && link.peer.receive(3) == ToyLink.end)
    link.peer.send(ToyLink.end)
    #expect(link.peer.receive(1) == [9])
    link.pair.close()
  }

  // J14
  @Test("a peer that is first, and is met in time, is answered: bytes are plain at once")
  func peerFirst() throws {
    let link = try ToyLink()
    let outcome = Shared<[UInt8]>([])
    link.pair.input.setClient(.all) { [pair = link.pair] stream, event in
      guard event == .hasBytesAvailable, let bytes = try? readSome(stream, 2) else { return }
      if outcome.value.isEmpty { try? pair.stopSecuring() }
      outcome.with { $0 += bytes }
    }
    link.pair.schedule(on: base)
    link.peer.send(ToyLink.record([7, 8]) + ToyLink.end + [9])
    #expect(eventually { outcome.value == [7, 8, 9] })
    #expect(link.peer.receive(3) == ToyLink.end && link.pair.input.status == .open)
    #expect(link.pair.output.waitUntilReady(timeout: .seconds(5)))
    link.pair.input.removeClient()
    link.pair.close()
  }

  // J14
  @Test(
    "a thread that only reads gets secured bytes and plain ones that came together", arguments: transports)
  func together(transport: ConnectionOptions.Transport) throws {
    for rest in [[], [9], pattern(2_000)] {
      let link = try ToyLink(transport)
      try link.pair.stopSecuring()
      link.peer.send(ToyLink.record([7, 8]) + ToyLink.end + rest)
      #expect(try read(2, from: link.pair.input) == [7, 8])
      // A wake-up that was lost would be made up for only by the end of the wait.
      let begin = monotonicSeconds()
      #expect(try read(rest.count, from: link.pair.input, seconds: 30) == rest)
      #expect(monotonicSeconds() - begin < 25)
      if rest.isEmpty { #expect(!link.pair.input.waitUntilReady(timeout: .milliseconds(10))) }
      link.peer.send([1])
      #expect(try read(1, from: link.pair.input) == [1] && link.pair.output.canAcceptBytes)
      link.pair.close()
    }
  }

  // J14
  @Test("plain bytes come behind those that were lent and not used up, each counted once")
  func loan() throws {
    let link = try ToyLink()
    link.peer.send(ToyLink.record([1, 2, 3]) + ToyLink.end + [4, 5])
    #expect(link.pair.input.waitUntilReady(timeout: .seconds(5)))
    link.pair.input.withAvailableBytes { bytes in
      #expect(bytes.byteCount == 3)
      try? link.pair.stopSecuring()
      return 1
    }
    #expect(link.pair.output.waitUntilReady(timeout: .seconds(5)))
    #expect(try read(4, from: link.pair.input) == [2, 3, 4, 5])
    #expect(link.pair.input.property(.bytesRead) == 5)
    link.pair.close()
  }

  // J14
  @Test("the peer's word is behind bytes that somebody has to read; until then nobody runs in circles")
  func unread() throws {
    for transport in Self.transports {
      let link = try ToyLink(transport)
      link.pair.output.setProperty(.lingerTimeout, to: .milliseconds(20))
      let log = PairLog()
      log.watch(link.pair, on: base, reading: false)
      try link.pair.stopSecuring()
      link.peer.send(ToyLink.record([7]) + ToyLink.end)
      #expect(log.hears(.hasBytesAvailable, .input))
      // Many times the limit, which is the peer's.
      #expect(loopTime(of: base, over: 0.3) < 0.1)
      #expect(link.pair.input.status == .open && !link.pair.output.canAcceptBytes)
      #expect(!link.pair.output.waitUntilReady(timeout: .milliseconds(10)))
      #expect(try read(1, from: link.pair.input) == [7])
      #expect(eventually { link.pair.output.canAcceptBytes })
      link.pair.close()
    }
  }

  // J14, J15
  @Test("a peer that does not answer is one error on both streams", arguments: transports)
  func silence(transport: ConnectionOptions.Transport) throws {
    for isScheduled in [true, false] {
      let link = try ToyLink(transport)
      if isScheduled { link.pair.schedule(on: base) }
      link.pair.output.setProperty(.lingerTimeout, to: .milliseconds(50))
      try link.pair.stopSecuring()
      #expect(link.pair.output.waitUntilReady(timeout: .seconds(10)))
      #expect(link.pair.output.error == .posix(ETIMEDOUT, "stop TLS"))
      #expect(link.pair.input.waitUntilReady(timeout: .seconds(10)))
      #expect(link.pair.input.error == link.pair.output.error)
      link.pair.close()
    }
  }

  // J14
  @Test("an answer is found when the time has passed, though nobody looked before")
  func lateLook() throws {
    let link = try ToyLink()
    link.pair.output.setProperty(.lingerTimeout, to: .milliseconds(50))
    try link.pair.stopSecuring()
    link.peer.send(ToyLink.end)
    #expect(eventually { link.pair.input.property(peerKey) == nil })
    #expect(link.pair.output.canAcceptBytes)
    link.pair.close()
  }

  // J14, G11
  @Test("a connection that ends without the peer's word was cut", arguments: transports)
  func cut(transport: ConnectionOptions.Transport) throws {
    for isScheduled in [true, false] {
      let link = try ToyLink(transport)
      if isScheduled { link.pair.schedule(on: base) }
      try link.pair.stopSecuring()
      link.peer.send(ToyLink.record([7]))
      link.peer.shutdownWrite()
      #expect(try read(1, from: link.pair.input) == [7])
      #expect(link.pair.output.waitUntilReady(timeout: .seconds(10)))
      #expect(throws: StreamError.tls(.closedWithoutNotice, "read")) { try link.pair.output.write([1]) }
      #expect(link.pair.input.waitUntilReady(timeout: .seconds(10)))
      #expect(link.pair.input.error?.tls == .closedWithoutNotice)
      link.pair.close()
    }
  }

  // J14
  @Test("an end right behind the peer's word is the end of the plain bytes")
  func endBehind() throws {
    let link = try ToyLink()
    link.pair.schedule(on: base)
    try link.pair.stopSecuring()
    link.peer.send(ToyLink.end + [1])
    link.peer.shutdownWrite()
    #expect(try read(2, from: link.pair.input) == [1] && link.pair.input.status == .atEnd)
    #expect(link.pair.output.waitUntilReady(timeout: .seconds(5)))
    #expect(try link.pair.output.write([2]) == 1)
    #expect(link.peer.receive(4) == ToyLink.end + [2])
    link.pair.close()
  }

  // J14
  @Test("closing and aborting do meanwhile what they do otherwise")
  func closing() throws {
    var link = try ToyLink()
    link.pair.schedule(on: base)
    try link.pair.stopSecuring()
    link.pair.output.close()
    #expect(link.peer.receiveAll() == ToyLink.end)
    link.peer.send(ToyLink.record([1]) + ToyLink.end + [2])
    #expect(try read(2, from: link.pair.input) == [1, 2])
    link.pair.close()
    link = try ToyLink()
    try link.pair.stopSecuring()
    link.pair.close()
    #expect(link.peer.receiveAll() == ToyLink.end)
    link = try ToyLink()
    link.pair.schedule(on: base)
    try link.pair.stopSecuring()
    link.pair.abort()
    #expect(eventually { link.pair.input.status == .closed })
    #expect(ToyLink.end.starts(with: link.peer.receive(10)))
  }

  // J14, J13
  @Test("a pair that is plain again can be secured anew, by both sides")
  func again() throws {
    let (mine, other) = try StreamPair.connected()
    mine.schedule(on: base)
    mine.open()
    other.open()
    for round in 0..<3 {
      let settings = ToySettings(hello: Array("HELLO \(round)".utf8))
      try mine.secure(with: settings)
      try other.secure(with: settings)
      #expect(other.output.waitUntilReady(timeout: .seconds(5)))
      #expect(try other.output.write([1, 2, 3]) == 3)
      #expect(try read(3, from: mine.input) == [1, 2, 3])
      #expect(mine.output.waitUntilReady(timeout: .seconds(5)))
      try mine.stopSecuring()
      #expect(throws: StreamError.misuse(.secured, "start TLS")) { try mine.secure(with: settings) }
      try other.stopSecuring()
      #expect(other.output.waitUntilReady(timeout: .seconds(5)))
      #expect(mine.output.waitUntilReady(timeout: .seconds(5)))
      #expect(try mine.output.write(pattern(1_000)) == 1_000)
      #expect(try read(1_000, from: other.input) == pattern(1_000))
    }
    mine.close()
  }

  // J14
  @Test("what is not secured, not open, or over is refused; asking twice is not")
  func refused() throws {
    let notSecured = StreamError.misuse(.notSecured, "stop TLS")
    let notOpen = StreamError.misuse(.notOpen, "stop TLS")
    let plain = try TCPLink()
    #expect(throws: notSecured) { try plain.pair.stopSecuring() }
    let early = try ToyLink(isAgreed: false)
    #expect(throws: notSecured) { try early.pair.stopSecuring() }
    let (unopened, _) = try StreamPair.connected()
    try unopened.secure(with: ToySettings())
    #expect(throws: notOpen) { try unopened.stopSecuring() }
    let link = try ToyLink()
    try link.pair.stopSecuring()
    try link.pair.stopSecuring()
    #expect(link.peer.receive(3) == ToyLink.end)
    link.peer.send(ToyLink.end)
    #expect(link.pair.output.waitUntilReady(timeout: .seconds(5)))
    #expect(throws: notSecured) { try link.pair.stopSecuring() }
    link.pair.close()
    #expect(throws: notOpen) { try link.pair.stopSecuring() }
    let ended = try ToyLink()
    ended.peer.send(ToyLink.end)
    #expect(try read(1, from: ended.pair.input) == [])
    #expect(throws: notOpen) { try ended.pair.stopSecuring() }
    let half = try ToyLink()
    half.pair.output.close()
    #expect(throws: notOpen) { try half.pair.stopSecuring() }
  }
}
