// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("Framed reader", .timeLimit(.minutes(2)))
struct FramedReaderTests {
  // E11, E16, D1
  @Test(
    "reads of all kinds are queued before the stream is opened and answered in order",
    arguments: TransportUnderTest.allCases)
  func queuedBeforeOpen(_ kind: TransportUnderTest) throws {
    let fixture = try Fixture(kind)
    let log = FramedLog()
    let reader = FramedReader(fixture.input, on: fixture.base) { _, event in log.note(event) }
    reader.read(.line(), tag: 1)
    reader.read(.exactly(4), tag: 2)
    reader.read(.lengthPrefixed(.twoBytes), tag: 3)
    reader.read(.through(Array("--".utf8)), tag: 4)
    reader.read(.toEnd(), tag: 5)
    fixture.open(fixture.input, fixture.output)
    for piece in ["on", "e\r", "\nfour\0", "\u{3}abcdef-", "-to the ", "end"] {
      fixture.peer.send(Array(piece.utf8))
    }
    fixture.peer.end()
    #expect(log.hears("ended"))
    #expect(
      log.all == [
        "opened", "1: \"one\"", "2: \"four\"", "3: \"abc\"", "4: \"def--\"", "5: \"to the end\"", "ended",
      ])
  }

  // L1
  @Test("while no read is queued nothing is taken from the socket, and the next read finds what came")
  func backPressure() throws {
    let link = try TCPLink.narrow()
    let base = try EventBase.startThread()
    let framed = FramedLink(link.pair, on: base)
    framed.reader.read(.exactly(2), tag: 1)
    let sent = fill(link.peer)
    #expect(sent < 16_000_000)
    #expect(framed.log.hears("1: \"\\0\\0\""))
    #expect(framed.reader.bufferedByteCount <= 65_536)
    framed.reader.read(.exactly(sent - 2), tag: 2)
    #expect(framed.log.hears("2: \(sent - 2) bytes"))
  }

  // N2, D16
  @Test("the next read may be queued from inside the handler, and from any thread")
  func requeue() throws {
    let (mine, other) = try StreamPair.connected()
    let base = try EventBase.startThread()
    let log = FramedLog()
    let reader = FramedReader(mine.input, on: base) { reader, event in
      log.note(event)
      if case .frame(_, let tag) = event, tag < 1_000 { reader.read(.line(), tag: tag + 1) }
    }
    mine.open()
    other.open()
    onThread { reader.read(.line(), tag: 0) }
    try other.output.write(moving: StreamBuffer(Array((0...1_000).map { "\($0)\n" }.joined().utf8)))
    #expect(log.hears("1000: \"1000\""))
    #expect(log.all == ["opened"] + (0...1_000).map { "\($0): \"\($0)\"" })
    withExtendedLifetime((mine, other)) {}
  }

  // E6, H2
  @Test("a read whose time limit passes fails unless it is given more, and what came stays")
  func timeLimit() throws {
    let (mine, other) = try StreamPair.connected()
    let base = try EventBase.startThread()
    let log = FramedLog()
    let extensions = Shared(2)
    let reader = FramedReader(mine.input, on: base) { reader, event in
      log.note(event)
      if case .timeLimitPassed = event {
        let isExtended = extensions.with { left in
          left -= 1
          return left >= 0
        }
        if isExtended { reader.extendTime(by: .milliseconds(20)) }
      }
    }
    reader.extendTime(by: .seconds(100))
    mine.open()
    other.open()
    reader.read(.line(), timeout: .milliseconds(30), tag: 1)
    reader.read(.exactly(1), tag: 2)
    try other.output.write(Array("abc".utf8))
    #expect(log.hears("2: POSIX 110"))
    #expect(reader.bufferedBytes == Array("abc".utf8))
    #expect(
      log.all == ["opened"] + Array(repeating: "1: time limit, 3", count: 3) + [
        "1: POSIX 110", "2: POSIX 110",
      ])
    reader.read(.exactly(3), timeout: .seconds(60), tag: 3)
    #expect(log.hears("3: \"abc\""))
    withExtendedLifetime((mine, other)) {}
  }

  // E6
  @Test("bytes that are in the kernel when the time is over win over the limit")
  func bytesWin() throws {
    let (mine, other) = try StreamPair.connected()
    let base = try EventBase()
    let log = FramedLog()
    let reader = FramedReader(mine.input, on: base) { _, event in log.note(event) }
    mine.open()
    other.open()
    reader.read(.line(), timeout: .milliseconds(1), tag: 1)
    // One pass, in which the read becomes the first one; then the bytes come, and the time passes, while nobody looks.
    base.execute { base.stop() }
    base.run()
    try other.output.write(Array("here\n".utf8))
    let late = monotonicSeconds() + 0.02
    #expect(eventually { monotonicSeconds() > late })
    base.schedule(after: .milliseconds(50)) { base.stop() }
    base.run()
    #expect(log.all.last == "1: \"here\"")
    #expect(!log.all.contains { $0.contains("limit") })
    withExtendedLifetime((mine, other)) {}
  }

  // E8, E9
  @Test("progress of a long frame is told until it is whole")
  func partial() throws {
    let (mine, other) = try StreamPair.connected()
    let base = try EventBase.startThread()
    let framed = FramedLink(mine, on: base, reportsPartial: true)
    framed.reader.read(.exactly(4), tag: 6)
    mine.open()
    other.open()
    try other.output.write(Array("ab".utf8))
    #expect(framed.log.hears("6: 2 of 4"))
    try other.output.write(Array("cd".utf8))
    #expect(framed.log.hears("6: \"abcd\""))
    withExtendedLifetime(other) {}
  }

  // E13, E16
  @Test("a line over its limit fails, and its owner goes on with the bytes in another way")
  func tooLong() throws {
    let (mine, other) = try StreamPair.connected()
    let base = try EventBase.startThread()
    let log = FramedLog()
    let reader = FramedReader(mine.input, on: base) { reader, event in
      log.note(event)
      guard case .failed(let error, let tag) = event, error.isFrameTooLong, tag == 2 else { return }
      log.note(String(decoding: reader.takeBuffered(), as: UTF8.self))
      reader.pushBack(Array("fresh\n".utf8))
      reader.read(.line(limit: 5), tag: 3)
    }
    reader.read(.line(limit: 5), tag: 1)
    reader.read(.line(limit: 5), tag: 2)
    mine.open()
    other.open()
    try other.output.write(Array("123456".utf8))
    #expect(log.hears("3: \"fresh\""))
    #expect(log.all == ["opened", "1: streams 33", "2: streams 33", "123456", "3: \"fresh\""])
    withExtendedLifetime((mine, other)) {}
  }

  // G7, G8
  @Test(
    "a reset is told by the read that it leaves without an answer, behind what came before",
    arguments: TransportUnderTest.breakable)
  func reset(_ kind: TransportUnderTest) throws {
    let fixture = try Fixture(kind)
    let log = FramedLog()
    let reader = FramedReader(fixture.input, on: fixture.base) { _, event in log.note(event) }
    reader.read(.line(), tag: 1)
    fixture.open(fixture.input, fixture.output)
    fixture.peer.send(Array("one\ntwo".utf8))
    #expect(log.hears("1: \"one\""))
    reader.read(.line(), tag: 2)
    reader.read(.line(), tag: 3)
    fixture.peer.fail()
    #expect(eventually { log.all.last?.hasPrefix("ended POSIX") == true })
    #expect(log.all.count == 5 && log.all[2].hasPrefix("2: POSIX") && log.all[3].hasPrefix("3: POSIX"))
    #expect(reader.takeBuffered() == Array("two".utf8))
  }

  // G7, report 32: an announcement may be of bytes that were read meanwhile
  @Test("the end is heard behind the last frame with no read queued, however close it comes")
  func endIsHeard() throws {
    for _ in 0..<(isSanitized ? 50 : 500) {
      let link = try TCPLink()
      let base = try EventBase.startThread()
      let framed = FramedLink(link.pair, on: base)
      framed.reader.read(.line())
      link.peer.send(Array("line\n".utf8))
      #expect(eventually { link.pair.input.property(.bytesRead) == 5 })
      link.peer.shutdownWrite()
      #expect(framed.log.hears("ended"))
    }
  }

  // A9, D15
  @Test("a connection that fails answers the reads that were queued before")
  func refused() throws {
    let port = try RawListener().port
    let pair = StreamPair(address: SocketAddress(ip: "127.0.0.1", port: port)!)
    let base = try EventBase.startThread()
    let framed = FramedLink(pair, on: base)
    framed.reader.read(.line(), tag: 1)
    framed.writer.write([1], tag: 2)
    pair.open()
    #expect(framed.log.hears("ended POSIX 111") && framed.log.hears("w ended POSIX 111"))
    #expect(framed.log.all.contains("1: POSIX 111") && framed.log.all.contains("w 2: POSIX 111, 0"))
  }

  // G10, D16
  @Test("after close nothing is told, whoever closes and when")
  func closeInHandler() throws {
    let (mine, other) = try StreamPair.connected()
    let base = try EventBase.startThread()
    let log = FramedLog()
    let reader = FramedReader(mine.input, on: base) { reader, event in
      log.note(event)
      if case .frame = event { reader.close() }
    }
    for tag in 0..<5 { reader.read(.exactly(1), tag: tag) }
    mine.open()
    other.open()
    try other.output.write(Array("abcde".utf8))
    #expect(log.hears("0: \"a\""))
    #expect(eventually { mine.input.status == .closed })
    base.sync {}
    reader.read(.exactly(1), tag: 9)
    base.sync {}
    #expect(log.all == ["opened", "0: \"a\""])
    withExtendedLifetime(other) {}
  }

  // Report 64
  @Test("a stream that is open and scheduled keeps its reader, which nobody else needs to keep")
  func kept() throws {
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let base = try EventBase.startThread()
    let log = FramedLog()
    listener.schedule(on: base) { pair, _ in
      let reader = FramedReader(pair.input, on: base) { reader, event in
        log.note(event)
        if case .frame(_, let tag) = event { reader.read(.line(), tag: tag + 1) }
      }
      reader.read(.line(), tag: 0)
      pair.input.open()
    }
    let peer = try #require(RawSocket(connectingTo: listener))
    peer.send(Array("one\ntwo\n".utf8))
    #expect(log.hears("1: \"two\""))
    peer.close()
    #expect(log.hears("ended"))
  }

  @Test("a reader and a writer that are never opened go with their pair")
  func neverOpened() throws {
    let base = try EventBase.startThread()
    let leaks = LeakCheck()
    do {
      let pair = StreamPair(host: "127.0.0.1", port: 9)
      let framed = FramedLink(pair, on: base)
      framed.reader.read(.line())
      framed.writer.write([1])
      leaks.watch(object: framed.reader)
      leaks.watch(object: framed.writer)
      leaks.watch(pair: pair)
    }
    leaks.expectNone()
  }

  @Test(
    "what a handler captures goes when the last event was told, and when the reader is closed",
    arguments: [true, false])
  func handlerGoes(closes: Bool) throws {
    let (mine, other) = try StreamPair.connected()
    let base = try EventBase.startThread()
    let leaks = LeakCheck()
    let log = FramedLog()
    let reader: FramedReader
    do {
      let captured = Gate()
      leaks.watch(object: captured)
      reader = FramedReader(mine.input, on: base) { _, event in
        log.note(event)
        withExtendedLifetime(captured) {}
      }
    }
    mine.open()
    other.open()
    if closes { reader.close() } else { other.close() }
    #expect(closes || log.hears("ended"))
    leaks.expectNone()
    withExtendedLifetime((mine, reader)) {}
  }
}
