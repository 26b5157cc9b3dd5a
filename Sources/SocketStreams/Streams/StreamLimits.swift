// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The limits that the owner of a pair has set. Apart from the endpoint: most pairs have none, and pay for none.

/// Limits of one pair, in both directions.
///
/// `@unchecked Sendable`: guarded by the endpoint's lock.
final class StreamLimits: @unchecked Sendable {
  /// The longest time in which nothing moves in one direction, while something should.
  var reading = ProgressDeadline()
  var writing = ProgressDeadline()
  /// The longest time in which nothing moves in either direction.
  var idle = ProgressDeadline()
  /// How long bytes that were accepted may make no progress after close, in nanoseconds.
  var linger = StreamLimits.defaultLinger
  /// The most that is taken from the transport at once for lending.
  var input = StreamLimits.defaultInput

  static let defaultLinger: UInt64 = 30_000_000_000
  static let defaultInput = 32_768
  /// More than this cannot be lent at once.
  static let largestLoan = 1 << 30

  subscript(direction: StreamLifecycle.Direction) -> ProgressDeadline {
    get { direction == .reading ? reading : writing }
    set {
      switch direction {
      case .reading: reading = newValue
      case .writing: writing = newValue
      }
    }
  }

  /// Whether the time in `direction` is limited.
  func isTimed(_ direction: StreamLifecycle.Direction) -> Bool { self[direction].isSet || idle.isSet }
}
