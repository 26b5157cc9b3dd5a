// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How many connections a server will have.

/// How many connections a ``Listener`` has open at the same time.
///
/// A connection counts from when it is accepted until its pair is over: both streams were closed, dropped or aborted, and
/// what they had accepted is sent or given up. A pair that has failed counts until its owner closes or drops it. A socket
/// that only waits for the peer to take the kernel's last bytes, two seconds at most, does not count any more.
public struct ConnectionLimits: Hashable, Sendable {
  /// The most in all, 1 or more; `nil` for no limit. With so many open, further connections wait in the kernel, as many
  /// as the listener's backlog, and the next is accepted when one ends.
  public var total: Int?
  /// The most from one address, 1 or more; `nil` for no limit. Further ones are accepted and closed at once, so that the
  /// others behind them do not wait. Ports do not matter; an IPv6 address counts whole, with its scope. Peers on a Unix
  /// socket have no address and are not limited.
  public var perPeer: Int?

  /// Limits as given, none by default.
  public init(total: Int? = nil, perPeer: Int? = nil) {
    precondition(total ?? 1 >= 1 && perPeer ?? 1 >= 1, "limit connections: a limit is less than 1")
    self.total = total
    self.perPeer = perPeer
  }
}
