// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How far the securing of a connection is. Knows no engine and no bytes.

/// How far the securing of one connection is.
package enum SecurityStage: Equatable, Sendable {
  /// There is no connection yet, and everything can be changed.
  case waiting
  /// Both sides are agreeing.
  case handshaking
  /// They agreed, and the owner has not approved yet.
  case approving
  /// Plain bytes go.
  case secured
  /// There is no agreement, and none to come.
  case failed

  /// Whether settings can be changed or taken off.
  package var admitsChange: Bool { self == .waiting }
  /// Whether plain bytes have to wait.
  package var isUnderWay: Bool { self == .handshaking || self == .approving }

  /// The connection is up.
  package mutating func connected() {
    if self == .waiting { self = .handshaking }
  }

  /// Both sides agree; `asks` tells whether the owner has to approve.
  package mutating func agreed(asks: Bool) {
    if self == .handshaking { self = asks ? .approving : .secured }
  }

  /// The owner said yes.
  package mutating func approved() {
    if self == .approving { self = .secured }
  }

  /// The handshake failed or took too long, or the owner said no.
  /// - Returns: Whether it was still under way.
  package mutating func gaveUp() -> Bool {
    guard isUnderWay else { return false }
    self = .failed
    return true
  }
}
