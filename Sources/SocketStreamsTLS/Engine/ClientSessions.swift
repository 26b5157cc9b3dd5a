// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The sessions that this process's clients may go on with.

#if TLS

internal import SocketStreams

/// Keeps clients' sessions, for the whole process.
///
/// `@unchecked Sendable`: the lock guards the cache. It is the last lock that is taken: nothing is called under it.
final class ClientSessions: @unchecked Sendable {
  static let shared = ClientSessions()

  /// Whom a session was agreed upon with, and under which settings: resuming checks no certificate, so what looser
  /// settings accepted must not serve stricter ones.
  struct Key: Hashable, Sendable {
    let target: SecurityTarget
    let settings: TLSSettings

    /// Settings can be long, with roots in them, and few targets are used with more than one.
    func hash(into hasher: inout Hasher) { hasher.combine(target) }
  }

  private let lock = Lock()
  private var cache = SessionCache<Key, SSLSession>(capacity: 256, largestEntry: 4)

  func keep(_ session: SSLSession, for key: Key) {
    // What is dropped is freed when the lock is not held any more.
    _ = lock.withLock { cache.sessionArrived(session, for: key, isSingleUse: session.isSingleUse) }
  }

  func take(for key: Key) -> SSLSession? {
    while let session = lock.withLock({ cache.sessionWanted(for: key) }) {
      if session.isResumable { return session }
      if !session.isSingleUse { drop(for: key) }
    }
    return nil
  }

  func drop(for key: Key) { _ = lock.withLock { cache.connectionFailed(for: key) } }
}

#endif
