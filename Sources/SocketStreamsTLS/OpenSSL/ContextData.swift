// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the callbacks of a context need. The only file of the contexts that says Unmanaged.

#if TLS

internal import COpenSSL

/// What OpenSSL keeps with an `SSL_CTX` and lets go of with it, which may be later than anybody else does.
final class ContextData: Sendable {
  let protocols: ApplicationProtocols?
  /// For a server's names; the first is the one for everybody else.
  let identities: [IdentityKeys]
  let keyLog: KeyLog?

  init(protocols: ApplicationProtocols?, identities: [IdentityKeys], keyLog: KeyLog?) {
    self.protocols = protocols
    self.identities = identities
    self.keyLog = keyLog
  }

  /// Which of a context's slots it is in.
  private static let slot = unsafe ss_ctx_new_index(dataTrampoline)

  /// Gives a reference to `context`.
  @unsafe
  func give(to context: OpaquePointer) {
    let isKept = unsafe SSL_CTX_set_ex_data(context, Self.slot, Unmanaged.passRetained(self).toOpaque())
    precondition(isKept == 1, "make a TLS context: out of memory")
  }

  /// The data of a connection's context, for the time of `body`.
  @unsafe
  static func use<Result>(of ssl: OpaquePointer?, _ body: (ContextData) -> Result) -> Result? {
    guard let data = unsafe SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), slot) else { return nil }
    return unsafe Unmanaged<ContextData>.fromOpaque(data)._withUnsafeGuaranteedRef(body)
  }

  /// The first identity that has just `name`; else the first with a wildcard for it.
  func identity(for name: String) -> IdentityKeys? {
    identities.first { $0.isFor(name, wildcards: false) }
      ?? identities.first { $0.isFor(name, wildcards: true) }
  }
}

/// Called for every context of the process when it goes, whether or not it has anything in the slot.
private func dataTrampoline(
  _: UnsafeMutableRawPointer?, _ data: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CRYPTO_EX_DATA>?,
  _: Int32,
  _: Int, _: UnsafeMutableRawPointer?
) {
  guard let data = unsafe data else { return }
  unsafe Unmanaged<ContextData>.fromOpaque(data).release()
}

#endif
