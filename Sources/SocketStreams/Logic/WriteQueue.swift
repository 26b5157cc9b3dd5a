// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Writes that wait their turn. Decides what is sent next, and which write is done. Times are monotonic nanoseconds,
// handed in.

/// The queue behind a `FramedWriter`. Every write is answered once, in order: it is written, or it fails. Only what the
/// queue had no room for is answered before its turn, as its turn may never come.
package struct WriteQueue: Sendable {
  package enum Step: Equatable, Sendable {
    case written(tag: Int)
    case partial(count: Int, total: Int, tag: Int)
    case failed(StreamError, tag: Int, count: Int)
    /// The first write has made no progress for too long; `timeExtended` or `givenUp` has to follow.
    case timeLimitPassed(tag: Int, elapsed: UInt64, count: Int)
    /// Nothing is to be told. Until then at the longest.
    case wait(until: UInt64?)
  }

  private struct Write: Sendable {
    var pieces: [[UInt8]]
    /// The first piece of which bytes are left, and how many of it were sent.
    var piece = 0
    var offset = 0
    let total: Int
    let tag: Int
    let timeout: UInt64?
    /// How many bytes the kernel has, and how many of those were reported.
    var taken = 0
    var reported = 0
    var failure: StreamError?

    var isDone: Bool { taken == total || failure != nil }

    /// What is left of the current piece.
    var rest: ArraySlice<UInt8> { pieces[piece][offset...] }

    /// Goes past pieces of which nothing is left, and lets go of them.
    mutating func skip() {
      while piece < pieces.count, offset >= pieces[piece].count {
        offset -= pieces[piece].count
        pieces[piece] = []
        piece += 1
      }
    }
  }

  /// Small writes are put together up to this size, so that a queue of them takes one call: to less when less was taken
  /// the last time, since what is not taken has been copied in vain.
  private static let mostGathered = 65_536
  private static let leastGathered = 4_096
  private static let small = 16_384

  private let limit: Int
  private let reportsPartial: Bool
  private var writes: [Write] = []
  private var first = 0
  /// The tags of writes for which there was no room.
  private var refused: ArraySlice<Int> = []
  /// The first one of which bytes are still to be sent.
  private var current = 0
  /// Bytes were given out to be sent, and nothing has made them void since.
  private var isOffered = false
  private var gathered = WriteQueue.mostGathered
  /// Since when the current one has waited without progress.
  private var start: UInt64?
  private var extra: UInt64?

  /// How many bytes the kernel has not taken.
  package private(set) var byteCount = 0

  package init(limit: Int = .max, reportsPartial: Bool = false) {
    self.limit = limit
    self.reportsPartial = reportsPartial
  }

  /// How many writes were not answered.
  package var writeCount: Int { writes.count - first + refused.count }

  /// Whether some write can be answered.
  package var hasAnswer: Bool { !refused.isEmpty || first < writes.count && writes[first].isDone }

  /// Whether the write whose turn it is may wait so long only.
  package var hasTimeLimit: Bool { current < writes.count && (extra ?? writes[current].timeout) != nil }

  // MARK: - What the owner did

  /// A write that would take the queue over its limit fails with `queueFull`; nothing of it is sent.
  package mutating func enqueue(_ pieces: [[UInt8]], timeout: UInt64? = nil, tag: Int) {
    let total = pieces.reduce(0) { $0 + $1.count }
    guard total <= limit - byteCount || total == 0 else { return refused.append(tag) }
    byteCount += total
    var write = Write(pieces: pieces, total: total, tag: tag, timeout: timeout)
    write.skip()
    writes.append(write)
    skipDone()
  }

  /// The owner gives the first write `time` more, from `now` on.
  package mutating func timeExtended(by time: UInt64, now: UInt64) { (start, extra) = (now, time) }

  /// Every write fails with `error`: given up by its owner, or the stream has failed. Bytes that are being sent at this
  /// moment are not counted.
  package mutating func givenUp(_ error: StreamError) {
    for index in current..<writes.count where !writes[index].isDone {
      writes[index].failure = error
      writes[index].pieces = []
    }
    current = writes.count
    byteCount = 0
    (isOffered, start, extra) = (false, nil, nil)
  }

  // MARK: - What the stream did

  /// The bytes to send next; `nil` if there are none.
  package mutating func nextBytes(now: UInt64) -> ArraySlice<UInt8>? {
    guard current < writes.count else { return nil }
    if start == nil { (start, extra) = (now, nil) }
    isOffered = true
    let head = writes[current].rest
    guard head.count < WriteQueue.small, byteCount > head.count else { return head }
    return gather()
  }

  /// The kernel took `count` bytes of those that ``nextBytes(now:)`` gave. Nothing happens if the writes were given up
  /// meanwhile.
  package mutating func sent(_ count: Int, now: UInt64) {
    guard count > 0, isOffered else { return }
    isOffered = false
    gathered = min(max(2 * count, WriteQueue.leastGathered), WriteQueue.mostGathered)
    byteCount -= count
    var left = count
    while left > 0 {
      let part = min(left, writes[current].total - writes[current].taken)
      writes[current].taken += part
      writes[current].offset += part
      writes[current].skip()
      left -= part
      if writes[current].isDone { skipDone() }
    }
    (start, extra) = (current < writes.count ? now : nil, nil)
  }

  // MARK: - What is to be done

  /// What to tell next. To be asked until it answers `.wait`.
  package mutating func next(now: UInt64) -> Step {
    if let tag = refused.popFirst() { return .failed(.misuse(.queueFull, "write"), tag: tag, count: 0) }
    guard first < writes.count else { return .wait(until: nil) }
    let write = writes[first]
    if write.isDone {
      pop()
      if let failure = write.failure { return .failed(failure, tag: write.tag, count: write.taken) }
      return .written(tag: write.tag)
    }
    if reportsPartial, write.taken > write.reported {
      writes[first].reported = write.taken
      return .partial(count: write.taken, total: write.total, tag: write.tag)
    }
    guard let start, let timeout = extra ?? write.timeout else { return .wait(until: nil) }
    let deadline = start.advanced(byClamped: timeout)
    if now < deadline { return .wait(until: deadline) }
    return .timeLimitPassed(tag: write.tag, elapsed: now - start, count: write.taken)
  }

  // MARK: - Details

  private func gather() -> ArraySlice<UInt8> {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(min(byteCount, gathered))
    for write in writes[current...] where !write.isDone {
      bytes.append(contentsOf: write.rest.prefix(gathered - bytes.count))
      for piece in write.pieces[(write.piece + 1)...] {
        if bytes.count == gathered { return bytes[...] }
        bytes.append(contentsOf: piece.prefix(gathered - bytes.count))
      }
      if bytes.count == gathered { return bytes[...] }
    }
    return bytes[...]
  }

  private mutating func skipDone() {
    while current < writes.count, writes[current].isDone { current += 1 }
  }

  private mutating func pop() {
    writes[first].pieces = []
    first += 1
    current = max(current, first)
    if first == writes.count {
      writes.removeAll(keepingCapacity: true)
      (first, current) = (0, 0)
    } else if first > 64, first > writes.count / 2 {
      writes.removeSubrange(..<first)
      (current, first) = (current - first, 0)
    }
  }
}
