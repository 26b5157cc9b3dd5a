// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Reads that wait their turn, and the bytes that have come for them. Decides what is brought, what fails, and when the
// stream is to be read. Times are monotonic nanoseconds, handed in.

/// The queue behind a `FramedReader`. Every read is answered once, in order: by a frame, or by a failure, which
/// answers all that are queued behind it too. Bytes leave only in frames, or when they are taken.
package struct FrameQueue: Sendable {
  package enum Step: Equatable, Sendable {
    case frame([UInt8], tag: Int)
    case partial(count: Int, total: Int?, tag: Int)
    case failed(StreamError, tag: Int)
    /// The first read needs more: at most this many bytes are to be read from the stream.
    case read(atMost: Int)
    /// Nothing is queued.
    case idle
    /// Nothing is queued, and nothing will come: told once. `nil` for the peer's end.
    case ended(StreamError?)
  }

  package enum Wait: Equatable, Sendable {
    /// For bytes, until then at the longest.
    case until(UInt64?)
    /// The first read has waited too long; `timeExtended` or `givenUp` has to follow.
    case timeLimitPassed(tag: Int, elapsed: UInt64, count: Int)
  }

  private struct Read: Sendable {
    var scanner: FrameScanner
    var target: [UInt8]
    let timeout: UInt64?
    let tag: Int
    /// Since when it has been the first.
    var start: UInt64?
    var deadline: UInt64?
    /// How many bytes were there when that was last reported.
    var reported = 0
  }

  private enum Source: Equatable, Sendable { case open, ended, failed(StreamError), done }

  /// Frames from this size on are read to their end and no further, so that they can be handed over without a copy.
  private static let large = 32_768

  private let reportsPartial: Bool
  private var reads: [Read] = []
  private var first = 0
  private var bytes = ByteQueue()
  private var source = Source.open
  /// An LF that comes next is to be dropped, as the second half of a line ending whose first half ended a line.
  private var dropsLineFeed = false
  /// Why the first `failingCount` reads fail.
  private var failure: StreamError?
  private var failingCount = 0
  /// Whether a read was answered by the end or failure of the stream.
  private var hasToldSource = false

  package init(reportsPartial: Bool = false) { self.reportsPartial = reportsPartial }

  // MARK: - What the owner did

  /// How many reads wait to be answered.
  package var readCount: Int { reads.count - first }

  /// How many bytes came that no frame has taken.
  package var byteCount: Int { bytes.count }

  /// A copy of the bytes that no frame has taken.
  package var unread: [UInt8] { Array(bytes.bytes) }

  /// - Parameter target: What the frame is to be appended to.
  package mutating func enqueue(
    _ framing: Framing, timeout: UInt64? = nil, appendingTo target: [UInt8] = [], tag: Int
  ) {
    reads.append(Read(scanner: FrameScanner(framing), target: target, timeout: timeout, tag: tag))
  }

  /// Bytes are put in front of those that came.
  package mutating func pushedBack(_ pushed: [UInt8]) {
    bytes.prepend(pushed)
    startAnew()
  }

  /// All bytes that no frame has taken, which are forgotten.
  package mutating func takeUnread() -> [UInt8] {
    startAnew()
    return bytes.take(bytes.count)
  }

  // MARK: - What the stream did

  package mutating func bytesArrived(_ arrived: some BidirectionalCollection<UInt8>) {
    guard let next = arrived.first else { return }
    let skipped = dropsLineFeed && next == UInt8(ascii: "\n") ? 1 : 0
    dropsLineFeed = false
    bytes.append(arrived.dropFirst(skipped), expected: readCount > 0 ? reads[first].scanner.expected : 0)
  }

  /// The peer has ended, and every byte has arrived here.
  package mutating func streamEnded() { if source == .open { source = .ended } }

  /// The stream has failed, and every byte that came before has arrived here.
  package mutating func streamFailed(_ error: StreamError) { if source == .open { source = .failed(error) } }

  // MARK: - What is to be done

  /// What to do next. To be asked until it answers `.idle`, `.ended`, or a `.read` that brings nothing.
  package mutating func next(now: UInt64) -> Step {
    if failingCount > 0, let failure { return .failed(failure, tag: popFailing()) }
    guard readCount > 0 else { return endOrIdle() }
    if reads[first].start == nil { begin(now) }
    switch reads[first].scanner.scan(bytes, isEnded: source == .ended) {
    case .frame(let content, let length):
      if source == .ended, bytes.isEmpty, case .toEnd = reads[first].scanner.framing.kind {
        if hasToldSource { return over() }
        hasToldSource = true
      }
      return .frame(take(content, length), tag: pop())
    case .failed(.cut): return meetEnd(.frame(.cut, "read"))
    case .failed(let code): return fail(.frame(code, "read"))
    case .more(let total):
      if case .failed(let error) = source { return meetEnd(error) }
      if reportsPartial, bytes.count > reads[first].reported {
        reads[first].reported = bytes.count
        return .partial(count: bytes.count, total: total, tag: reads[first].tag)
      }
      guard let total, total >= FrameQueue.large else { return .read(atMost: .max) }
      return .read(atMost: total - bytes.count)
    }
  }

  /// How long to wait, as the first read needs bytes and the stream has none.
  package func wait(now: UInt64) -> Wait {
    guard readCount > 0, let start = reads[first].start, let deadline = reads[first].deadline else {
      return .until(nil)
    }
    if now < deadline { return .until(deadline) }
    return .timeLimitPassed(tag: reads[first].tag, elapsed: now - start, count: bytes.count)
  }

  /// The owner gives the first read `time` more, from `now` on.
  package mutating func timeExtended(by time: UInt64, now: UInt64) {
    if readCount > 0 { reads[first].deadline = now.advanced(byClamped: time) }
  }

  /// The owner gives the first read up: it fails with `error`, and so do those behind it.
  package mutating func givenUp(_ error: StreamError) {
    failure = error
    failingCount = readCount
  }

  // MARK: - Details

  /// A read asks for more than will ever come: it fails. If one has before, all is over, or an owner who always reads
  /// again would never be done.
  private mutating func meetEnd(_ error: StreamError) -> Step {
    if hasToldSource { return over() }
    hasToldSource = true
    return fail(error)
  }

  private mutating func begin(_ now: UInt64) {
    reads[first].start = now
    reads[first].deadline = reads[first].timeout.map { now.advanced(byClamped: $0) }
  }

  private mutating func endOrIdle() -> Step {
    // After the last byte, as the stream tells its own end; or when a read has met it.
    bytes.isEmpty || hasToldSource ? over() : .idle
  }

  private mutating func over() -> Step {
    switch source {
    case .open, .done: return .idle
    case .ended:
      source = .done
      return .ended(nil)
    case .failed(let error):
      source = .done
      return .ended(error)
    }
  }

  private mutating func take(_ content: Range<Int>, _ length: Int) -> [UInt8] {
    let ending = length > content.upperBound ? bytes[content.upperBound] : nil
    bytes.drop(content.lowerBound)
    var frame = bytes.take(content.count)
    bytes.drop(length - content.upperBound)
    if case .line(.any) = reads[first].scanner.framing.kind, ending == UInt8(ascii: "\r") { dropLineFeed() }
    if !reads[first].target.isEmpty {
      reads[first].target.append(contentsOf: frame)
      swap(&frame, &reads[first].target)
    }
    return frame
  }

  /// An LF that comes next belongs to the line that has just been taken.
  private mutating func dropLineFeed() {
    if bytes.isEmpty {
      dropsLineFeed = true
    } else if bytes[0] == UInt8(ascii: "\n") {
      bytes.drop(1)
    }
  }

  /// What was seen of the bytes is true no more.
  private mutating func startAnew() {
    guard readCount > 0 else { return }
    reads[first].scanner = FrameScanner(reads[first].scanner.framing)
    reads[first].reported = 0
  }

  private mutating func fail(_ error: StreamError) -> Step {
    givenUp(error)
    return .failed(error, tag: popFailing())
  }

  private mutating func popFailing() -> Int {
    failingCount -= 1
    return pop()
  }

  private mutating func pop() -> Int {
    let tag = reads[first].tag
    first += 1
    if first == reads.count {
      reads.removeAll(keepingCapacity: true)
      first = 0
    } else if first > 64, first > reads.count / 2 {
      reads.removeSubrange(..<first)
      first = 0
    }
    return tag
  }
}

extension UInt64 {
  /// The sum, or the largest number if it is larger.
  func advanced(byClamped other: UInt64) -> UInt64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
