// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A time limit that starts anew at each progress. Times are monotonic nanoseconds, handed in.

/// A limit on the time without progress in one direction.
package struct ProgressDeadline: Equatable, Sendable {
  /// The longest time without progress, in nanoseconds; 0 for no limit.
  package private(set) var limit: UInt64 = 0
  private var start: UInt64 = 0
  private var isRunning = false

  package init() {}

  package var isSet: Bool { limit != 0 }

  /// The limit was set or taken away (`nil`).
  package mutating func limitChanged(_ nanoseconds: UInt64?, now: UInt64) {
    limit = nanoseconds ?? 0
    start = now
  }

  /// Something is waited for, or nothing is any more. The time counts only while something is.
  package mutating func waiting(_ isWaiting: Bool, now: UInt64) {
    if isWaiting, !isRunning { start = now }
    isRunning = isWaiting
  }

  /// Bytes moved.
  package mutating func progressed(now: UInt64) { start = now }

  /// When the limit passes, or `nil` while nothing is waited for.
  package var expiry: UInt64? {
    guard isSet, isRunning else { return nil }
    let (sum, overflow) = start.addingReportingOverflow(limit)
    return overflow ? nil : sum
  }
}
