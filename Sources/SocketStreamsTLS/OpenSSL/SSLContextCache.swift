// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Contexts of settings in use. To make one costs milliseconds if the system's roots are read for it, and a server's
// tickets are of use to the same context only.

#if TLS

internal import SocketStreams

/// The contexts that were asked for last.
///
/// `@unchecked Sendable`: the list is touched only while the lock is held.
final class SSLContextCache: @unchecked Sendable {
  /// The process's own.
  static let shared = SSLContextCache(limit: 32)

  private struct Entry {
    let settings: TLSSettings
    let context: SSLContext
  }

  private let limit: Int
  private let lock = Lock()
  /// The one that was asked for last is the last.
  private var entries: [Entry] = []

  /// - Parameter limit: How many contexts are kept besides those that connections hold; at least 1.
  init(limit: Int) { self.limit = limit }

  /// A context for `settings`: the same one for settings that differ only in what it need not know.
  func context(for settings: TLSSettings) throws(StreamError) -> SSLContext {
    try settings.check()
    let settings = settings.ofContext
    if let found = lock.withLock({ use(settings) }) { return found }
    // Not under the lock, as it reads files.
    let made = try SSLContext(settings)
    let (context, dropped) = lock.withLock {
      if let found = use(settings) { return (found, nil as Entry?) }
      let dropped = entries.count == limit ? entries.removeFirst() : nil
      entries.append(Entry(settings: settings, context: made))
      return (made, dropped)
    }
    // Freed after the lock, if by nobody else.
    _ = dropped
    return context
  }

  private func use(_ settings: TLSSettings) -> SSLContext? {
    guard let index = entries.lastIndex(where: { $0.settings == settings }) else { return nil }
    let entry = entries.remove(at: index)
    entries.append(entry)
    return entry.context
  }
}

extension SSLContext {
  /// The process's context for `settings`: the same one for settings that differ only in what it need not know.
  static func shared(for settings: TLSSettings) throws(StreamError) -> SSLContext {
    try SSLContextCache.shared.context(for: settings)
  }
}

extension TLSSettings {
  /// Without what concerns single connections.
  fileprivate var ofContext: TLSSettings {
    var settings = self
    settings.peerName = nil
    settings.handshakeTimeout = nil
    settings.approval = nil
    if verification == .chainOnly { settings.verification = .full }
    return settings
  }
}

#endif
