// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a pair's connection comes from, which the endpoint has to know as long as the pair is there.

/// Where a connection comes from. With neither of the two it was there before the pair.
///
/// No enum: pointers in one with several cases are kept in a form that the leak sanitizer does not take for pointers.
struct ConnectionOrigin {
  /// Where to connect to, and how: it has yet to be made.
  var plan: ConnectPlan?
  /// Who has count of it: it is one of several that were accepted.
  var keeper: PairKeeper?
}

/// Who has count of pairs, and hears of the end of each.
///
/// `@unchecked Sendable`: holds nothing; each subclass adds the proof for its own state.
class PairKeeper: @unchecked Sendable {
  /// The pair is over, and its socket closed or lingering. Called once a pair, on any thread, no lock held.
  func pairEnded(_ endpoint: Endpoint) {}
}
