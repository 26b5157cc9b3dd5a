// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a pair's connection comes from, in one word of the endpoint: most pairs need none of what the others have.

/// Where a connection comes from.
enum ConnectionOrigin {
  /// It was there before the pair.
  case existing
  /// It has yet to be made.
  case connecting(ConnectPlan)
  /// It is one of those that somebody has count of.
  case accepted(PairKeeper)
}

/// Who has count of pairs, and hears of the end of each.
///
/// `@unchecked Sendable`: holds nothing; each subclass adds the proof for its own state.
class PairKeeper: @unchecked Sendable {
  /// The pair is over, and its socket closed or lingering. Called once a pair, on any thread, no lock held.
  func pairEnded(_ endpoint: Endpoint) {}
}
