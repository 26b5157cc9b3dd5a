// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("Frame queue: time, progress, cost")
struct FrameQueueTimeTests {
  // E6
  @Test("a read's time runs from when it is the first, and its bytes win over its limit")
  func timeLimit() {
    var queue = FrameQueue()
    queue.enqueue(.exactly(1), timeout: 100, tag: 0)
    queue.enqueue(.exactly(2), timeout: 100, tag: 1)
    #expect(queue.next(now: 1_000) == .read(atMost: .max))
    #expect(queue.wait(now: 1_050) == .until(1_100))
    queue.bytesArrived([1, 2])
    #expect(queue.next(now: 1_200) == .frame([1], tag: 0))
    #expect(queue.next(now: 1_200) == .read(atMost: .max))
    #expect(queue.wait(now: 1_299) == .until(1_300))
    #expect(queue.wait(now: 1_300) == .timeLimitPassed(tag: 1, elapsed: 100, count: 1))
  }

  // E6
  @Test("the owner may give more time, as often as it likes")
  func extended() {
    var queue = FrameQueue()
    queue.enqueue(.line(), timeout: 100, tag: 5)
    _ = queue.next(now: 0)
    queue.timeExtended(by: 30, now: 110)
    #expect(queue.wait(now: 139) == .until(140))
    #expect(queue.wait(now: 140) == .timeLimitPassed(tag: 5, elapsed: 140, count: 0))
    queue.timeExtended(by: .max, now: 150)
    #expect(queue.wait(now: 1_000) == .until(.max))
  }

  // E6
  @Test("a read whose time is over fails with those behind it, and what came stays")
  func givenUp() {
    var queue = FrameQueue()
    queue.enqueue(.line(), timeout: 100, tag: 1)
    queue.enqueue(.line(), tag: 2)
    queue.bytesArrived(Array("ab".utf8))
    _ = queue.next(now: 0)
    let error = StreamError.posix(110, "read")
    queue.givenUp(error)
    queue.enqueue(.exactly(2), tag: 3)
    #expect(queue.next(now: 100) == .failed(error, tag: 1))
    #expect(queue.next(now: 100) == .failed(error, tag: 2))
    #expect(queue.next(now: 100) == .frame(Array("ab".utf8), tag: 3))
    #expect(queue.next(now: 100) == .idle)
  }

  // E8, E9
  @Test("progress is told once for each arrival, with the total where it is known")
  func partial() {
    var queue = FrameQueue(reportsPartial: true)
    queue.enqueue(.exactly(5), tag: 1)
    queue.enqueue(.line(), tag: 2)
    queue.bytesArrived([97, 98])
    #expect(queue.next(now: 0) == .partial(count: 2, total: 5, tag: 1))
    #expect(queue.next(now: 0) == .read(atMost: .max))
    queue.bytesArrived(Array("cdexy".utf8))
    #expect(queue.next(now: 0) == .frame(Array("abcde".utf8), tag: 1))
    #expect(queue.next(now: 0) == .partial(count: 2, total: nil, tag: 2))
    #expect(queue.next(now: 0) == .read(atMost: .max))
    #expect(queue.next(now: 0) == .read(atMost: .max))
    _ = queue.takeUnread()
    queue.bytesArrived([97])
    #expect(queue.next(now: 0) == .partial(count: 1, total: nil, tag: 2))
  }

  // L1
  @Test("nothing is read from the stream while no read is queued")
  func idle() {
    var queue = FrameQueue()
    #expect(queue.next(now: 0) == .idle)
    queue.bytesArrived([1])
    #expect(queue.next(now: 0) == .idle)
    queue.enqueue(.exactly(1), tag: 0)
    #expect(queue.next(now: 0) == .frame([1], tag: 0))
    #expect(queue.next(now: 0) == .idle)
  }

  // Report 44
  @Test("a large frame is read to its end and no further, and leaves without being copied")
  func large() {
    var queue = FrameQueue()
    queue.enqueue(.exactly(100_000), tag: 0)
    #expect(queue.next(now: 0) == .read(atMost: 100_000))
    queue.bytesArrived([UInt8](repeating: 1, count: 99_000))
    #expect(queue.next(now: 0) == .read(atMost: 1_000))
    queue.bytesArrived([UInt8](repeating: 1, count: 1_000))
    guard case .frame(let bytes, 0) = queue.next(now: 0) else { return #expect(Bool(false)) }
    #expect(bytes.count == 100_000 && bytes.capacity < 150_000)
  }

  // Report 44
  @Test("a long queue and many small frames cost no more than their bytes")
  func many() {
    var feed = FrameFeed([])
    for tag in 0..<50_000 { feed.read(.line(), tag: tag) }
    let lines = (0..<50_000).map { "\($0)\n" }.joined()
    feed.arrive(lines.utf8)
    #expect(feed.answers.count == 50_000 && feed.answers.last == .frame("49999", 49_999))
    #expect(feed.queue.readCount == 0 && feed.queue.byteCount == 0)
  }
}
