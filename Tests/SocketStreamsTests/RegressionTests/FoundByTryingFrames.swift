// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Faults of readers and writers of frames that were found by trying to break them.
import SocketStreams
import Testing

@Suite("Found by trying: frames", .timeLimit(.minutes(3)))
struct FoundByTryingFrames {
  /// A connection whose output nobody reads, and a base.
  private static func blocked() throws -> (TCPLink, EventBase) {
    (try TCPLink.narrow(), try EventBase.startThread())
  }

  @Test("a read that is queued while the reader finds bytes that nobody asked for is answered")
  func readWhileLooking() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let answers = Signal()
    let reader = FramedReader(link.pair.input, on: base) { _, event in
      if case .frame = event { answers.raise() }
    }
    for round in 0..<(isSanitized ? 2_000 : 10_000) {
      let sender = onThread { [peer = link.peer] in peer.send([1]) }
      // Now early, now late.
      for _ in 0..<round % 50 * 40 { withExtendedLifetime(reader) {} }
      reader.read(.exactly(1))
      #expect(sender.wait(seconds: 20))
      guard answers.wait(seconds: 20) else {
        Issue.record("round \(round)")
        return
      }
    }
  }

  @Test("a pair is closed after the writes although the writer has failed")
  func closeAfterWritesThatFailed() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let framed = FramedLink(link.pair, on: base)
    link.peer.reset()
    framed.reader.read(.line())
    #expect(eventually { framed.log.all.contains { $0.hasPrefix("w ended") } })
    let over = Gate()
    link.pair.whenOver { over.open() }
    framed.framed.close(after: .writes)
    #expect(over.wait(seconds: 20))
  }

  @Test("a write that just fits into a buffer in memory is told as written, also if nobody reads")
  func exactFit() throws {
    let base = try EventBase.startThread()
    let pair = StreamPair.bound(bufferSize: 5)
    let log = FramedLog()
    let writer = FramedWriter(pair.output, on: base) { _, event in log.note(event) }
    pair.open()
    #expect(log.hears("w opened"))
    writer.write([1, 2, 3, 4, 5], tag: 1)
    #expect(log.hears("w 1: written", within: 5))
    withExtendedLifetime(pair) {}
  }

  @Test("a time limit that is extended by less than its handler takes leaves the base to others")
  func shortExtension() throws {
    let (link, base) = try Self.blocked()
    let extends = Shared(true)
    let asked = Gate()
    let log = FramedLog()
    let reader = FramedReader(link.pair.input, on: base) { reader, event in
      log.note(event)
      guard case .timeLimitPassed = event, extends.value else { return }
      asked.open()
      reader.extendTime(by: .nanoseconds(1))
    }
    let writer = FramedWriter(link.pair.output, on: base) { writer, event in
      if case .timeLimitPassed = event, extends.value { writer.extendTime(by: .zero) }
      if case .failed = event { log.note(event) }
    }
    reader.read(.exactly(1), timeout: .milliseconds(1), tag: 1)
    writer.write([UInt8](repeating: 1, count: 20_000_000), timeout: .milliseconds(1), tag: 1)
    #expect(asked.wait(seconds: 20))
    let turn = Gate()
    base.execute { turn.open() }
    let hadTurn = turn.wait(seconds: 10)
    extends.with { $0 = false }
    #expect(hadTurn)
    #expect(log.hears("1: POSIX 110"))
    #expect(eventually { log.all.contains { $0.hasPrefix("w 1: POSIX 110") } })
  }

  @Test("a reader or writer that is closed leaves no timer behind", .enabled(if: !isSanitized))
  func timers() async {
    await #expect(processExitsWith: .success) {
      let base = try EventBase.startThread()
      func round(_ count: Int) {
        for _ in 0..<count {
          let pair = StreamPair.bound(bufferSize: 1)
          let reader = FramedReader(pair.input, on: base) { _, _ in }
          pair.open()
          reader.read(.exactly(2), timeout: .seconds(3_600))
          base.sync {}
          base.sync {}
          reader.close()
          pair.close()
        }
      }
      round(5_000)
      let before = residentBytes()
      round(20_000)
      #expect(residentBytes() - before < 4_000_000)
    }
  }

  @Test("pushing back byte by byte takes time in proportion")
  func pushBackInLoop() {
    var queue = FrameQueue()
    queue.bytesArrived([UInt8](repeating: 1, count: 8_000_000))
    for _ in 0..<400_000 { queue.pushedBack([2]) }
    #expect(queue.byteCount == 8_400_000)
    queue.enqueue(.exactly(100_000), tag: 1)
    #expect(queue.next(now: 0) == .frame([UInt8](repeating: 2, count: 100_000), tag: 1))
  }
}
