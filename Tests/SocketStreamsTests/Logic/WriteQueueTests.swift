// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("Write queue")
struct WriteQueueTests {
  /// Sends as a kernel that takes `each` bytes a call.
  private func drain(_ queue: inout WriteQueue, each: Int) -> [UInt8] {
    var sent: [UInt8] = []
    while let bytes = queue.nextBytes(now: 0) {
      let taken = min(each, bytes.count)
      sent += bytes.prefix(taken)
      queue.sent(taken, now: 0)
    }
    return sent
  }

  private func steps(_ queue: inout WriteQueue) -> [WriteQueue.Step] {
    var steps: [WriteQueue.Step] = []
    while true {
      let step = queue.next(now: 0)
      if case .wait = step { return steps }
      steps.append(step)
    }
  }

  private func tag(_ step: WriteQueue.Step) -> Int? {
    switch step {
    case .written(let tag), .failed(_, let tag, _): tag
    default: nil
    }
  }

  // F1, F4, F5, F9
  @Test(
    "writes are sent in order and answered when their last byte is, whatever is taken at a time",
    arguments: [1, 3, 1_000])
  func order(each: Int) {
    var queue = WriteQueue()
    queue.enqueue([[1, 2, 3]], tag: 1)
    queue.enqueue([[], [4], [], [5, 6], []], tag: 2)
    queue.enqueue([[7, 8]], tag: 3)
    #expect(queue.byteCount == 8)
    #expect(drain(&queue, each: each) == [1, 2, 3, 4, 5, 6, 7, 8])
    #expect(queue.byteCount == 0)
    #expect(steps(&queue) == [.written(tag: 1), .written(tag: 2), .written(tag: 3)])
    #expect(queue.writeCount == 0)
  }

  // F14
  @Test("a write of no bytes is answered behind those before it")
  func empty() {
    var queue = WriteQueue()
    queue.enqueue([[1]], tag: 1)
    queue.enqueue([], tag: 2)
    queue.enqueue([[]], tag: 3)
    #expect(steps(&queue).isEmpty)
    #expect(drain(&queue, each: 9) == [1])
    #expect(steps(&queue) == [.written(tag: 1), .written(tag: 2), .written(tag: 3)])
    queue.enqueue([[]], tag: 4)
    #expect(queue.nextBytes(now: 0) == nil)
    #expect(steps(&queue) == [.written(tag: 4)])
  }

  // F9
  @Test("small writes leave together, and a large one is not copied to join them")
  func gathered() {
    var queue = WriteQueue()
    for tag in 0..<100 { queue.enqueue([[UInt8](repeating: 1, count: 100)], tag: tag) }
    #expect(queue.nextBytes(now: 0)?.count == 10_000)
    queue.sent(150, now: 0)
    // Little was taken, so that little is put together the next time.
    #expect(queue.nextBytes(now: 0)?.count == 4_096)
    #expect(steps(&queue) == [.written(tag: 0)])
    var large = WriteQueue()
    large.enqueue([[UInt8](repeating: 1, count: 20_000)], tag: 0)
    large.enqueue([[2]], tag: 1)
    #expect(large.nextBytes(now: 0)?.count == 20_000)
  }

  // L4
  @Test("a write over the limit fails alone and at once; those around it are sent")
  func limit() {
    var queue = WriteQueue(limit: 4)
    queue.enqueue([[1, 2, 3]], tag: 1)
    queue.enqueue([[9, 9]], tag: 2)
    queue.enqueue([[4]], tag: 3)
    #expect(queue.byteCount == 4)
    let error = StreamError.misuse(.queueFull, "write")
    #expect(steps(&queue) == [.failed(error, tag: 2, count: 0)])
    #expect(drain(&queue, each: 9) == [1, 2, 3, 4])
    #expect(steps(&queue) == [.written(tag: 1), .written(tag: 3)])
    queue.enqueue([[9, 9, 9, 9, 9]], tag: 4)
    #expect(steps(&queue) == [.failed(error, tag: 4, count: 0)])
  }

  // F7
  @Test("progress is told with how many bytes went and how many there are")
  func partial() {
    var queue = WriteQueue(reportsPartial: true)
    queue.enqueue([[1, 2, 3]], tag: 8)
    _ = queue.nextBytes(now: 0)
    queue.sent(2, now: 0)
    #expect(steps(&queue) == [.partial(count: 2, total: 3, tag: 8)])
    _ = queue.nextBytes(now: 0)
    queue.sent(1, now: 0)
    #expect(steps(&queue) == [.written(tag: 8)])
  }

  // F6, report 13
  @Test("a write's limit counts from its last progress, and the owner may give more time")
  func timeLimit() {
    var queue = WriteQueue()
    queue.enqueue([[1, 2, 3]], timeout: 100, tag: 1)
    #expect(queue.next(now: 500) == .wait(until: nil))
    _ = queue.nextBytes(now: 1_000)
    #expect(queue.next(now: 1_050) == .wait(until: 1_100))
    queue.sent(1, now: 1_090)
    #expect(queue.next(now: 1_150) == .wait(until: 1_190))
    #expect(queue.next(now: 1_190) == .timeLimitPassed(tag: 1, elapsed: 100, count: 1))
    queue.timeExtended(by: 50, now: 1_200)
    #expect(queue.next(now: 1_249) == .wait(until: 1_250))
    #expect(queue.next(now: 1_250) == .timeLimitPassed(tag: 1, elapsed: 50, count: 1))
    _ = queue.nextBytes(now: 1_255)
    queue.sent(1, now: 1_260)
    #expect(queue.next(now: 1_300) == .wait(until: 1_360))
  }

  // F6
  @Test("writes that are given up fail in order, with what had gone of each; later ones are sent")
  func givenUp() {
    var queue = WriteQueue()
    queue.enqueue([[1, 2]], tag: 1)
    queue.enqueue([[3, 4]], tag: 2)
    queue.enqueue([[5]], tag: 3)
    _ = queue.nextBytes(now: 0)
    queue.sent(3, now: 0)
    let error = StreamError.posix(32, "write")
    queue.givenUp(error)
    #expect(queue.byteCount == 0)
    queue.enqueue([[6]], tag: 4)
    #expect(drain(&queue, each: 9) == [6])
    #expect(
      steps(&queue) == [
        .written(tag: 1), .failed(error, tag: 2, count: 1), .failed(error, tag: 3, count: 0),
        .written(tag: 4),
      ])
  }

  // F1
  @Test("random writes and random kernels keep every byte in order", arguments: scriptSeeds(20))
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var queue = WriteQueue(limit: 500)
    var accepted: [UInt8] = []
    var sent: [UInt8] = []
    var next: UInt8 = 0
    var told: [Int] = []
    var written = 0
    for _ in 0..<2_000 {
      if random.oneIn(2) {
        var pieces: [[UInt8]] = []
        for _ in 0..<random.below(4) {
          pieces.append(
            (0..<random.below(40)).map { _ in
              next &+= 1; return next
            })
        }
        let count = pieces.reduce(0) { $0 + $1.count }
        if count == 0 || count <= 500 - queue.byteCount { accepted += pieces.joined() }
        queue.enqueue(pieces, tag: written)
        written += 1
      } else if let bytes = queue.nextBytes(now: 0) {
        let taken = random.below(bytes.count + 1)
        if random.oneIn(20) {
          // Given up while the bytes were on their way: they are gone, and nothing of them is counted.
          accepted.removeLast(queue.byteCount)
          queue.givenUp(.posix(32, "write"))
          queue.sent(taken, now: 0)
        } else {
          sent += bytes.prefix(taken)
          queue.sent(taken, now: 0)
        }
      }
      told += steps(&queue).compactMap(tag)
      #expect(queue.byteCount == accepted.count - sent.count)
    }
    sent += drain(&queue, each: 7)
    #expect(sent == accepted)
    told += steps(&queue).compactMap(tag)
    #expect(told.sorted() == Array(0..<written))
  }

  // F1
  @Test("what was being sent while the writes were given up is taken for no other write's")
  func givenUpInFlight() {
    let error = StreamError.posix(110, "write")
    var queue = WriteQueue()
    queue.enqueue([[1, 2, 3]], tag: 1)
    _ = queue.nextBytes(now: 0)
    queue.givenUp(error)
    queue.sent(3, now: 0)
    #expect(queue.byteCount == 0 && steps(&queue) == [.failed(error, tag: 1, count: 0)])
    queue.enqueue([[4, 5]], tag: 2)
    _ = queue.nextBytes(now: 0)
    queue.givenUp(error)
    queue.enqueue([[6, 7]], tag: 3)
    queue.sent(2, now: 0)
    #expect(queue.byteCount == 2 && steps(&queue) == [.failed(error, tag: 2, count: 0)])
    #expect(drain(&queue, each: 9) == [6, 7] && steps(&queue) == [.written(tag: 3)])
  }

  // F6
  @Test("a write that follows one that was given up has its own time, and taking nothing is no progress")
  func timeAfterGivingUp() {
    var queue = WriteQueue()
    queue.enqueue([[1]], timeout: 100, tag: 1)
    _ = queue.nextBytes(now: 0)
    queue.sent(0, now: 90)
    #expect(queue.next(now: 100) == .timeLimitPassed(tag: 1, elapsed: 100, count: 0))
    let error = StreamError.posix(110, "write")
    queue.givenUp(error)
    queue.enqueue([[2]], timeout: 100, tag: 2)
    #expect(queue.next(now: 1_000) == .failed(error, tag: 1, count: 0))
    _ = queue.nextBytes(now: 1_000)
    #expect(queue.next(now: 1_050) == .wait(until: 1_100))
  }

  // F9, F11
  @Test("of a large piece behind a small one only as much is copied as leaves at once")
  func largeBehindSmall() {
    var queue = WriteQueue()
    queue.enqueue([[1, 2, 3, 4], [UInt8](repeating: 5, count: 1_000_000)], tag: 1)
    #expect(queue.nextBytes(now: 0)?.count == 65_536)
    queue.sent(65_536, now: 0)
    #expect(queue.nextBytes(now: 0)?.count == 1_000_004 - 65_536)
  }
}
