// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How patiently a client tries to get its connection back, as plain data.

/// How long a ``ReconnectingClient`` waits between attempts, and how many it makes.
///
/// The first attempt comes at once. Each wait is ``factor`` times as long as the one before, from ``initialDelay`` up to
/// ``maximumDelay``, and a random part of it is left out, ``jitter`` at most, so that the clients of a server that comes
/// back do not all come at the same moment. With a connection, and when one is asked for by hand, everything starts
/// afresh: a server that accepts and closes at once is asked again every ``initialDelay``, for ever.
public struct ReconnectPolicy: Hashable, Sendable {
  /// The first wait: after the first failure in a row, and after the loss of a connection. At least a millisecond; less
  /// counts as that.
  public var initialDelay: Duration
  /// How many times longer than the last each further wait is. At least 1; less counts as 1, which keeps the delay.
  public var factor: Double
  /// The longest wait, at least a millisecond. A first delay that is longer counts as this.
  public var maximumDelay: Duration
  /// The largest part of a wait that chance may leave out: 0 for always the whole, 1 for anything up to the whole.
  /// Values outside are moved to the nearer end.
  public var jitter: Double
  /// How many attempts in a row may fail before the client gives up: at least 1, less counts as 1; `nil` for ever.
  public var attempts: Int?

  /// Half a second at first, then twice as long each time, at most 30 seconds, less up to a fifth by chance, for ever.
  public init(
    initialDelay: Duration = .milliseconds(500), factor: Double = 2, maximumDelay: Duration = .seconds(30),
    jitter: Double = 0.2, attempts: Int? = nil
  ) {
    self.initialDelay = initialDelay
    self.factor = factor
    self.maximumDelay = maximumDelay
    self.jitter = jitter
    self.attempts = attempts
  }
}
