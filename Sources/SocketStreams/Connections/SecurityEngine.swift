// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The seam between a pair and what secures it. An engine turns plain bytes into secured ones and back; it moves none
// itself, knows no descriptor, no loop and no thread, and is the same for every transport.

/// Where an engine's secured bytes come from and go to: the transport below. The pair's lock is held in every call.
package protocol SecurityWire: AnyObject, Sendable {
  /// Takes secured bytes that have arrived.
  func receiveSecured(into buffer: inout MutableRawSpan) -> IOResult
  /// Takes over all of some secured bytes. A failure of the connection is the wire's to tell, not the engine's.
  func sendSecured(_ bytes: RawSpan)
}

/// How far a handshake got.
package enum HandshakeProgress: Equatable, Sendable {
  /// Both sides agree; plain bytes can go.
  case done
  /// The peer has to say something first.
  case wouldBlock
  /// There will be no agreement: see ``SecurityEngine/failure``.
  case failed
}

/// One connection's security. The pair's lock is held in every call, but for the approval, and calls come from any
/// thread.
package protocol SecurityEngine: AnyObject, Sendable {
  /// Sets the wire, once and before anything else. It outlives the engine, which does not hold it.
  func attach(to wire: any SecurityWire)
  /// Goes on with the handshake.
  func handshake() -> HandshakeProgress
  /// What is to be asked once the handshake is done and before a plain byte goes, with no lock held; `nil` for nothing.
  var approval: (@Sendable () -> Bool)? { get }
  /// The approval was not given: sets ``failure``.
  func refuse()

  /// Takes plain bytes that have arrived. `.end` is the peer's own word that it sends no more; an end of the wire without it
  /// is `.failed`. After `.failed`, whose code is the failure's, ``failure`` tells why.
  func receive(into buffer: inout MutableRawSpan) -> IOResult
  /// What `receive` would answer, taking nothing: `.bytes` with 1 or more when there are some.
  func peek() -> IOResult
  /// Whether bytes, plain or secured, were taken from the wire and not given out yet: no arrival will tell of them.
  var holdsInput: Bool { get }
  /// Whether bytes can be sent. Not in the middle of something that the peer says to the engine itself: `peek` goes on with
  /// that.
  var canSend: Bool { get }
  /// Secures all of `bytes`, at most ``largestSecuredPiece`` of them. `.bytes` or `.failed`.
  func send(_ bytes: RawSpan) -> IOResult
  /// Tells the peer that no more is sent. Does nothing before the handshake is done, while bytes cannot be sent, after a
  /// failure, or twice.
  func finishSending()
  /// What was taken from the wire behind the peer's word that it sends no more, and so is not the engine's; `nil` for
  /// nothing. Asked once, when `receive` or `peek` has answered `.end`, and nothing else afterwards.
  func takeRest() -> StreamBuffer?
  /// Why the engine stopped; `nil` while it works.
  var failure: StreamError? { get }

  /// What was agreed upon, once the handshake is done: the value of the property ``StreamPropertyName/securityPeer``.
  var peer: (any Sendable)? { get }
}

extension SecurityEngine {
  package var canSend: Bool { true }
}

/// How many plain bytes an engine secures at once.
package let largestSecuredPiece = 16_384

/// Whom a pair was made to connect to.
package struct SecurityTarget: Hashable, Sendable {
  /// The host as the pair was given it, a name or an address that may stand in brackets; `nil` for sockets that were
  /// there before the pair.
  package let host: String?
  /// `nil` if there is none.
  package let port: UInt16?

  package init(host: String?, port: UInt16?) {
    self.host = host
    self.port = port
  }
}

/// How to secure a pair: the value of the property ``StreamPropertyName/securitySettings``.
package protocol SecuritySettings: Sendable {
  /// Makes the engine of one connection.
  /// - Throws: What is wrong with the settings for this target.
  func makeEngine(for target: SecurityTarget) throws(StreamError) -> any SecurityEngine
  /// The longest time from being connected to an agreement; `nil` for no limit but that of connecting.
  var handshakeTimeout: Duration? { get }
  /// Whether `other` asks for the same.
  func isSame(as other: any SecuritySettings) -> Bool
}
