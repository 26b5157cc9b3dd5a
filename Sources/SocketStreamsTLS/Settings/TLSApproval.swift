// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

/// A last question before a connection is used: whether its peer will do.
///
/// It is asked once for each connection, after the handshake and all checks, for resumed sessions too, on a thread of
/// its own, with no lock held; until it answers, the connection waits, and the time limit of the handshake runs.
public struct TLSApproval: Hashable, Sendable {
  /// On the heap, so that an approval is somebody.
  private final class Question: Sendable {
    let body: @Sendable (TLSPeer) -> Bool
    init(_ body: @escaping @Sendable (TLSPeer) -> Bool) { self.body = body }
  }

  private let question: Question

  /// Asks `body`, which gets what was agreed upon and returns whether to go on. If it does not, the connection ends
  /// with `StreamError.TLS.notApproved`.
  public init(_ body: @escaping @Sendable (TLSPeer) -> Bool) { question = Question(body) }

  /// Asks.
  func isGiven(to peer: TLSPeer) -> Bool { question.body(peer) }

  /// Whether both are copies of the same one; two that were made apart are not equal, whatever they ask.
  public static func == (a: TLSApproval, b: TLSApproval) -> Bool { a.question === b.question }

  /// Hashes which one it is.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(question)) }
}

#endif
