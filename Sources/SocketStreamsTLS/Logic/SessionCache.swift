// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Which of a client's sessions are kept for the next connection. Knows nothing of what a session is.

#if TLS

/// Sessions by whom they were agreed upon with, those used longest ago given up first.
struct SessionCache<Key: Hashable, Session> {
  private struct Entry {
    var sessions: [Session]
    var isSingleUse: Bool
    var lastUse: UInt64
  }

  private var entries: [Key: Entry] = [:]
  private var clock: UInt64 = 0
  private let capacity: Int
  private let largestEntry: Int

  /// - Parameters:
  ///   - capacity: For how many keys sessions are kept.
  ///   - largestEntry: How many sessions for single use are kept for one key.
  init(capacity: Int, largestEntry: Int) {
    self.capacity = capacity
    self.largestEntry = largestEntry
  }

  /// For how many keys there are sessions.
  var count: Int { entries.count }

  /// A session was agreed upon. One that serves again and again takes the place of all before it.
  /// - Returns: Those that are not kept any more.
  mutating func sessionArrived(_ session: Session, for key: Key, isSingleUse: Bool) -> [Session] {
    var dropped: [Session] = []
    var entry =
      entries.removeValue(forKey: key) ?? Entry(sessions: [], isSingleUse: isSingleUse, lastUse: 0)
    if !isSingleUse || !entry.isSingleUse {
      dropped = entry.sessions
      entry.sessions = []
    } else if entry.sessions.count >= largestEntry {
      dropped = [entry.sessions.removeFirst()]
    }
    entry.sessions.append(session)
    entry.isSingleUse = isSingleUse
    entry.lastUse = nextTime()
    if entries.count >= capacity, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
      entries[oldest.key] = nil
      dropped += oldest.value.sessions
    }
    entries[key] = entry
    return dropped
  }

  /// A connection begins: the newest session for it, which is gone from here if it is for single use.
  mutating func sessionWanted(for key: Key) -> Session? {
    guard var entry = entries[key], let session = entry.sessions.last else { return nil }
    if entry.isSingleUse { entry.sessions.removeLast() }
    entry.lastUse = nextTime()
    entries[key] = entry.sessions.isEmpty ? nil : entry
    return session
  }

  /// A connection failed: what was agreed upon with that peer is not to be relied on.
  /// - Returns: The sessions that are not kept any more.
  mutating func connectionFailed(for key: Key) -> [Session] {
    entries.removeValue(forKey: key)?.sessions ?? []
  }

  private mutating func nextTime() -> UInt64 {
    clock += 1
    return clock
  }
}

#endif
