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
  /// The owner takes it off: what it wrote before goes out secured, and then the word that no more follows.
  case finishing
  /// That was said, and the peer has not said the same yet.
  case stopping
  /// It is off: bytes go as they are.
  case plain
  /// There is no agreement, and none to come.
  case failed

  /// Whether settings can be changed or taken off.
  package var admitsChange: Bool { self == .waiting }
  /// Whether plain bytes have to wait.
  package var isUnderWay: Bool { self == .handshaking || self == .approving }
  /// Whether what arrives is secured, by what both sides agreed on.
  package var isAgreed: Bool { self == .secured || isEnding }
  /// Whether it is being taken off: what arrives is secured still, and what is written from now on has to wait.
  package var isEnding: Bool { self == .finishing || self == .stopping }

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

  /// The owner takes it off.
  /// - Returns: Whether that begins now.
  package mutating func stopRequested() -> Bool {
    guard self == .secured else { return false }
    self = .finishing
    return true
  }

  /// What was to go out secured is out, and the word behind it, too.
  package mutating func endSaid() {
    if self == .finishing { self = .stopping }
  }

  /// The peer said that no more follows.
  /// - Returns: Whether it is off with that. Without both sides' words it is not.
  package mutating func peerEnded() -> Bool {
    guard self == .stopping else { return false }
    self = .plain
    return true
  }

  /// The handshake failed, the owner said no, or the peer took too long to agree or to end.
  /// - Returns: Whether it was still under way.
  package mutating func gaveUp() -> Bool {
    guard isUnderWay || isEnding else { return false }
    self = .failed
    return true
  }
}
