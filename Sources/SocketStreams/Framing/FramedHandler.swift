// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What readers and writers of frames have in common: their owner's handler, and its answer about a time limit.

/// The owner's handler.
///
/// `@unchecked Sendable`: handed over by a `sending` parameter, and called on one base's thread only.
final class FramedHandler<Caller, Event>: @unchecked Sendable {
  let call: (Caller, Event) -> Void

  init(_ call: @escaping (Caller, Event) -> Void) { self.call = call }
}

/// The question whether a read or write gets more time, asked by calling the owner.
struct TimeQuestion {
  private var isAsked = false
  private var time: UInt64?

  mutating func ask() { (isAsked, time) = (true, nil) }

  /// Counts only while the question is asked.
  mutating func answer(_ time: Duration) { if isAsked { self.time = time.clampedNanoseconds } }

  /// How much more, in nanoseconds; `nil` for none.
  mutating func takeAnswer() -> UInt64? {
    defer { (isAsked, time) = (false, nil) }
    return time
  }
}

extension Duration {
  /// As many nanoseconds, or as many as a duration can have.
  init(clamping nanoseconds: UInt64) { self = .nanoseconds(Int64(clamping: nanoseconds)) }
}
