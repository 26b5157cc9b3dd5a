// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What readers and writers of frames have in common: their owner's handler, whether the base's thread is at work for them,
// and how they end. A value guarded by the lock of its reader or writer; calls nothing.

/// The owner's handler.
///
/// `@unchecked Sendable`: handed over by a `sending` parameter, and called on one base's thread only.
final class FramedHandler<Caller, Event>: @unchecked Sendable {
  let call: (Caller, Event) -> Void

  init(_ call: @escaping (Caller, Event) -> Void) { self.call = call }
}

/// Whose turn it is.
struct FramedTurn<Caller, Event> {
  /// What an end lets go of, with the lock free.
  struct Ending {
    let handler: FramedHandler<Caller, Event>?
    /// Called when the stream has been closed after its work.
    let whenClosed: (@Sendable () -> Void)?
  }

  /// How many events are told in one pass.
  static var longest: Int { 256 }

  /// `nil` once it is over: closed, or the last event is being told.
  private(set) var handler: FramedHandler<Caller, Event>?
  /// The connection is up, or has been.
  var isOpen = false
  /// The stream is to be closed when its work is done.
  private(set) var closesAfterWork = false
  private var whenClosed: (@Sendable () -> Void)?
  /// The base's thread is taking steps, or has been asked to.
  private var isPassing = false
  private var isDue = false
  /// The owner is being asked whether it gives more time, and what it has said, in nanoseconds.
  private var isAsked = false
  private var time: UInt64?

  init(_ handler: @escaping (Caller, Event) -> Void) { self.handler = FramedHandler(handler) }

  // MARK: - Passes

  /// Whether somebody has to ask the base's thread to take steps, after a change that no event follows.
  mutating func request() -> Bool {
    guard isOpen, !isPassing, !isDue, handler != nil else { return false }
    isDue = true
    return true
  }

  /// The base's thread is there.
  /// - Returns: `false` if it is taking steps already, further up.
  mutating func begin() -> Bool {
    isDue = false
    guard !isPassing, handler != nil else { return false }
    isPassing = true
    return true
  }

  /// There is nothing more to do.
  mutating func rest() { isPassing = false }

  // MARK: - More time

  mutating func ask() { (isAsked, time) = (true, nil) }

  /// Counts only while the question is asked.
  mutating func answer(_ time: Duration) { if isAsked { self.time = time.clampedNanoseconds } }

  /// How much more, in nanoseconds; `nil` for none.
  mutating func takeAnswer() -> UInt64? {
    defer { (isAsked, time) = (false, nil) }
    return time
  }

  // MARK: - The end

  /// - Returns: `false` if it is over already, and the stream is to be closed at once.
  mutating func closeAfterWork(_ whenClosed: (@Sendable () -> Void)?) -> Bool {
    guard handler != nil else { return false }
    closesAfterWork = true
    if let whenClosed { self.whenClosed = whenClosed }
    return true
  }

  /// It is over.
  mutating func end() -> Ending {
    defer { (handler, whenClosed, isPassing) = (nil, nil, false) }
    return Ending(handler: handler, whenClosed: whenClosed)
  }
}

extension Duration {
  /// As many nanoseconds, or as many as a duration can have.
  init(clamping nanoseconds: UInt64) { self = .nanoseconds(Int64(clamping: nanoseconds)) }
}
