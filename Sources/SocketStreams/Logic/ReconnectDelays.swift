// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How long to wait before the next attempt: growing, capped, and shortened by a random number that is handed in.

/// The waits between attempts, one after the other. (M1)
struct ReconnectDelays {
  private static let shortest = 1_000_000.0
  private static let longest = 100.0 * 365 * 86_400 * 1e9

  // In nanoseconds; doubles hold them, and what grows beyond them is not a number that traps.
  private let initial: Double
  private let factor: Double
  private let maximum: Double
  private let jitter: Double
  private var next: Double

  init(_ policy: ReconnectPolicy) {
    maximum = Self.nanoseconds(policy.maximumDelay)
    initial = min(Self.nanoseconds(policy.initialDelay), maximum)
    factor = policy.factor >= 1 ? policy.factor : 1
    jitter = Self.fraction(policy.jitter)
    next = initial
  }

  /// The next wait is the first again.
  mutating func reset() { next = initial }

  /// The next wait.
  /// - Parameter random: From 0 to 1; 0 leaves the wait whole.
  mutating func take(random: Double) -> Duration {
    let delay = next * (1 - jitter * Self.fraction(random))
    next = min(next * factor, maximum)
    return .nanoseconds(Int64(max(delay, Self.shortest)))
  }

  private static func nanoseconds(_ duration: Duration) -> Double {
    let (seconds, attoseconds) = duration.components
    return min(max(Double(seconds) * 1e9 + Double(attoseconds) / 1e9, shortest), longest)
  }

  /// `value` moved between 0 and 1; 0 for what is not a number.
  private static func fraction(_ value: Double) -> Double { value > 0 ? min(value, 1) : 0 }
}
