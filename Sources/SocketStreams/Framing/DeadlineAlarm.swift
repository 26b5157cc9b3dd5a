// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A deadline that moves often and passes seldom: its timer is set anew only when it has fired too early.

/// One deadline on a base. A value of the base's thread.
struct DeadlineAlarm {
  private var timer: EventTimer?
  private var due = UInt64.max

  /// Has `passed` called at `deadline` (monotonic nanoseconds) or before; then it is to be set again. `nil`: never.
  mutating func set(
    _ deadline: UInt64?, now: UInt64, on base: EventBase, _ passed: @escaping @Sendable () -> Void
  ) {
    guard let deadline, deadline < due else { return }
    timer?.cancel()
    due = deadline
    timer = base.schedule(after: .nanoseconds(Int64(clamping: deadline > now ? deadline - now : 0)), passed)
  }

  /// The timer has fired.
  mutating func passed() { (timer, due) = (nil, .max) }

  mutating func cancel() {
    timer?.cancel()
    passed()
  }
}
