// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Framed writer", .timeLimit(.minutes(2)))
struct FramedWriterTests {
  // F1, F2, F4, F5, F8
  @Test(
    "writes of any size queued before open are sent in order, each answered when all of it is taken",
    arguments: TransportUnderTest.pairs)
  func queuedBeforeOpen(_ kind: TransportUnderTest) throws {
    let fixture = try Fixture(kind)
    let log = FramedLog()
    let writer = FramedWriter(fixture.output, on: fixture.base) { _, event in log.note(event) }
    let large = pattern(1_000_000)
    writer.write(Array("small".utf8), tag: 1)
    writer.write([], tag: 2)
    writer.write(large, tag: 3)
    writer.write(gathering: [Array("a".utf8), [], Array("bc".utf8)], tag: 4)
    #expect(writer.queuedByteCount == 1_000_008 && log.all.isEmpty)
    fixture.open(fixture.output, fixture.input)
    #expect(fixture.peer.receive(1_000_008) == Array("small".utf8) + large + Array("abc".utf8))
    #expect(log.hears("w 4: written"))
    #expect(log.all == ["w opened", "w 1: written", "w 2: written", "w 3: written", "w 4: written"])
    #expect(writer.queuedByteCount == 0)
  }

  // G2, F8
  @Test(
    "closing after the writes sends them all, says the end, and tells of it",
    arguments: TransportUnderTest.pairs)
  func closeAfterWrites(_ kind: TransportUnderTest) throws {
    let fixture = try Fixture(kind)
    let log = FramedLog()
    let writer = FramedWriter(fixture.output, on: fixture.base) { _, event in log.note(event) }
    let bytes = pattern(3_000_000)
    writer.write(bytes, tag: 1)
    writer.closeAfterWrites()
    fixture.open(fixture.output, fixture.input)
    #expect(fixture.peer.receiveToEnd() == bytes)
    #expect(log.hears("w ended"))
    #expect(log.all == ["w opened", "w 1: written", "w ended"])
  }

  @Test("a writer with nothing to write closes at once, also from another thread")
  func closeIdle() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let framed = FramedLink(link.pair, on: base)
    framed.writer.closeAfterWrites()
    #expect(framed.log.hears("w ended"))
    #expect(link.peer.receiveEnd() == 0)
  }

  // F13, N2
  @Test("writes from several threads are whole, in each thread's order, and each answered once")
  func threads() throws {
    let (mine, other) = try StreamPair.connected()
    let base = try EventBase.startThread()
    let log = FramedLog()
    let writer = FramedWriter(mine.output, on: base) { _, event in log.note(event) }
    mine.open()
    other.open()
    let gates = (0..<4).map { thread in
      onThread {
        for number in 0..<500 {
          writer.write(
            [UInt8(thread)] + [UInt8](repeating: UInt8(number % 251), count: 99), tag: thread * 500 + number)
        }
      }
    }
    let bytes = try read(200_000, from: other.input, seconds: 60)
    for gate in gates { #expect(gate.wait(seconds: 30)) }
    #expect(eventually { log.all.count == 2_001 })
    var next = [0, 0, 0, 0]
    for start in stride(from: 0, to: bytes.count, by: 100) {
      let thread = Int(bytes[start])
      let frame = bytes[start + 1..<start + 100]
      #expect(frame.allSatisfy { $0 == UInt8(next[thread] % 251) })
      next[thread] += 1
    }
    #expect(next == [500, 500, 500, 500])
    #expect(Set(log.all.dropFirst()) == Set((0..<2_000).map { "w \($0): written" }))
    withExtendedLifetime((mine, other)) {}
  }

  // F6, F7, H6, report 13
  @Test("a write that makes no progress for its limit fails, and tells how much the kernel took")
  func timeLimit() throws {
    let link = try TCPLink.narrow()
    let base = try EventBase.startThread()
    let log = FramedLog()
    let extensions = Shared(1)
    let writer = FramedWriter(link.pair.output, on: base, reportsPartial: true) { writer, event in
      switch event {
      case .timeLimitPassed(let tag, let elapsed, let count):
        log.note("\(tag): limit \(elapsed >= .milliseconds(50)) \(count > 0)")
        if extensions.with({ left in
          defer { left -= 1 }; return left > 0
        }) {
          writer.extendTime(by: .milliseconds(50))
        }
      case .failed(let error, let tag, let count):
        log.note("\(tag): \(error.code) \(count > 0 && count < 64_000_000)")
      case .ended, .opened, .partial: break
      case .written(let tag): log.note("\(tag): written")
      }
    }
    writer.write([1], timeout: .milliseconds(50), tag: 1)
    writer.write([UInt8](repeating: 2, count: 64_000_000), timeout: .milliseconds(50), tag: 2)
    writer.write([3], tag: 3)
    #expect(log.hears("3: 110 false"))
    #expect(
      log.all == ["1: written", "2: limit true true", "2: limit true true", "2: 110 true", "3: 110 false"])
    #expect(writer.queuedByteCount == 0 && link.pair.output.status == .open)
  }

  // L4, F14
  @Test("a write over the queue's limit fails alone, before those that wait")
  func queueLimit() throws {
    let link = try TCPLink.narrow()
    let base = try EventBase.startThread()
    let framed = FramedLink(link.pair, on: base, queueLimit: 1_000_000)
    let taken = try fill(link.pair.output)
    framed.writer.write([UInt8](repeating: 1, count: 900_000), tag: 1)
    framed.writer.write([UInt8](repeating: 2, count: 200_000), tag: 2)
    framed.writer.write([UInt8](repeating: 3, count: 10), tag: 3)
    // At once: a peer that does not read is found out.
    #expect(framed.log.hears("w 2: streams 2, 0"))
    #expect(!framed.log.all.contains("w 1: written"))
    let bytes = link.peer.receive(taken + 900_010)
    #expect(bytes.count == taken + 900_010 && bytes.suffix(11) == [1] + [UInt8](repeating: 3, count: 10))
    #expect(framed.log.hears("w 3: written"))
    #expect(
      framed.log.all.filter { $0.hasPrefix("w ") } == [
        "w opened", "w 2: streams 2, 0", "w 1: written", "w 3: written",
      ])
  }

  // F7
  @Test("progress of a long write is told, and grows")
  func partial() throws {
    let link = try TCPLink.narrow()
    let base = try EventBase.startThread()
    let counts = Shared<[Int]>([])
    let done = Gate()
    let writer = FramedWriter(link.pair.output, on: base, reportsPartial: true) { _, event in
      if case .partial(let count, 5_000_000, 4) = event { counts.with { $0.append(count) } }
      if case .written(4) = event { done.open() }
    }
    writer.write([UInt8](repeating: 7, count: 5_000_000), tag: 4)
    #expect(link.peer.receive(5_000_000).count == 5_000_000)
    #expect(done.wait(seconds: 20))
    #expect(!counts.value.isEmpty && counts.value == counts.value.sorted())
  }

  // F15, G9
  @Test(
    "writing to a peer that has gone fails each write, ends once, and raises no signal",
    arguments: TransportUnderTest.breakable)
  func peerGone(_ kind: TransportUnderTest) throws {
    let fixture = try Fixture(kind)
    let log = FramedLog()
    let writer = FramedWriter(fixture.output, on: fixture.base) { _, event in log.note(event) }
    fixture.open(fixture.output, fixture.input)
    fixture.peer.fail()
    writer.write([1], tag: 0)
    #expect(
      eventually {
        if let last = log.all.last, last.hasPrefix("w ended") { return true }
        writer.write([UInt8](repeating: 1, count: 10_000), tag: 1)
        return false
      })
    let count = log.all.count
    writer.write([1], tag: 2)
    fixture.base.sync {}
    #expect(log.all.count == count && log.all.filter { $0.hasPrefix("w ended POSIX") }.count == 1)
  }

  @Test("a write that answers a failure fails, too, though there was no room before")
  func writeIntoFailure() throws {
    let (pair, peer) = StreamPair.scripted()
    let base = try EventBase.startThread()
    let log = FramedLog()
    let writer = FramedWriter(pair.output, on: base) { writer, event in
      if case .failed(_, let tag, _) = event, tag == 1 { writer.write([2], tag: 2) }
      log.note(event)
    }
    peer.accept(0)
    pair.open()
    writer.write([1], tag: 1)
    base.settle()
    peer.fail(ECONNRESET)
    #expect(eventually { log.all.last?.hasPrefix("w ended POSIX") == true })
    #expect(log.all.filter { $0.contains(": POSIX \(ECONNRESET)") }.count == 2)
  }

  // E14
  @Test("a frame is written with its length, which has to fit")
  func lengthPrefixed() throws {
    let (mine, other) = try StreamPair.connected()
    let base = try EventBase.startThread()
    let left = FramedLink(mine, on: base)
    let right = FramedLink(other, on: base)
    mine.open()
    other.open()
    for width in LengthPrefix.Width.allCases {
      right.reader.read(.lengthPrefixed(width, order: .littleEndian), tag: width.rawValue)
      try left.writer.write(Array("frame".utf8), prefixedBy: LengthPrefix(width, .littleEndian))
    }
    #expect(right.log.hears("8: \"frame\""))
    #expect(right.log.all.filter { $0.hasSuffix("\"frame\"") }.count == 4)
    let error = #expect(throws: StreamError.self) {
      try left.writer.write([UInt8](repeating: 0, count: 256), prefixedBy: LengthPrefix(.oneByte))
    }
    #expect(error?.isFrameTooLong == true)
  }
}

@Suite("Framed pair", .timeLimit(.minutes(2)))
struct FramedPairTests {
  // G1, G3
  @Test("disconnects now, after reads, after writes, after both")
  func close() throws {
    for work: FramedPair.Work in [[], .reads, .writes, [.reads, .writes]] {
      let link = try TCPLink.narrow()
      let base = try EventBase.startThread()
      let framed = FramedLink(link.pair, on: base)
      framed.reader.read(.line(), tag: 1)
      framed.writer.write([UInt8](repeating: 1, count: 5_000_000), tag: 2)
      framed.framed.close(after: work)
      base.sync {}
      let isOpen = (link.pair.input.status == .open, link.pair.output.status == .open)
      #expect(isOpen.0 == (work != []) && isOpen.1 == (work != []), "\(work)")
      switch work {
      case .reads:
        link.peer.send(Array("line\n".utf8))
        #expect(framed.log.hears("ended") && !framed.log.all.contains("w ended"))
        // What the stream had taken is sent; what was queued behind it is not.
        #expect(link.peer.receiveAll().map { $0.count < 5_000_000 } == true)
      case .writes:
        #expect(link.peer.receiveAll()?.count == 5_000_000)
        #expect(framed.log.hears("w ended") && !framed.log.all.contains("ended"))
      case [.reads, .writes]:
        #expect(link.peer.receiveAll()?.count == 5_000_000)
        #expect(framed.log.hears("w ended") && link.pair.input.status == .open)
        link.peer.send(Array("line\n".utf8))
        #expect(framed.log.hears("ended") && framed.log.all.contains("1: \"line\""))
      default: #expect(framed.log.all.allSatisfy { $0.hasSuffix("opened") })
      }
      #expect(eventually { link.pair.input.status == .closed && link.pair.output.status == .closed })
    }
  }
}
