// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the callbacks of a context need.

#if TLS

internal import COpenSSL

/// What OpenSSL keeps with an `SSL_CTX` and lets go of with it, which may be later than anybody else does.
final class ContextData: Sendable {
  let protocols: ApplicationProtocols?
  /// For a server's names; the first is the one for everybody else.
  let identities: [IdentityKeys]
  let keyLog: KeyLog?
  /// Whether the peer's chain has to lead to a root.
  let checksChain: Bool
  private let pinnedKeys: Set<[UInt8]>

  init(
    protocols: ApplicationProtocols?, identities: [IdentityKeys], keyLog: KeyLog?, checksChain: Bool,
    pinnedKeys: Set<[UInt8]>
  ) {
    self.protocols = protocols
    self.identities = identities
    self.keyLog = keyLog
    self.checksChain = checksChain
    self.pinnedKeys = pinnedKeys
  }

  /// Which of a context's slots it is in.
  private static let slot: Int32 = {
    let index = unsafe CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil, dataTrampoline)
    precondition(index >= 0, "reserve a place in TLS contexts: out of memory")
    return index
  }()

  /// Gives a reference to `context`.
  @unsafe
  func give(to context: OpaquePointer) {
    let isKept = unsafe SSL_CTX_set_ex_data(context, Self.slot, LentPointer.give(self))
    precondition(isKept == 1, "make a TLS context: out of memory")
  }

  /// The data of a connection's context.
  @unsafe
  static func of(_ ssl: OpaquePointer?) -> ContextData? {
    unsafe LentPointer.use(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), slot), as: ContextData.self) { $0 }
  }

  /// The first identity that has just `name`; else the first with a wildcard for it.
  func identity(for name: String) -> IdentityKeys? {
    identities.first { $0.isFor(name, wildcards: false) }
      ?? identities.first { $0.isFor(name, wildcards: true) }
  }

  /// Whether one of OpenSSL's lists of certificates has a pinned key, or there are none.
  @unsafe
  func isPinned(_ chain: OpaquePointer?) -> Bool {
    unsafe pinnedKeys.isEmpty
      || OpenSSLList.elements(of: chain).contains { unsafe pinnedKeys.contains(Certificate.keyHash(of: $0)) }
  }
}

/// Called for every context of the process when it goes, whether or not it has anything in the slot.
private func dataTrampoline(
  _: UnsafeMutableRawPointer?, _ data: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CRYPTO_EX_DATA>?,
  _: Int32,
  _: Int, _: UnsafeMutableRawPointer?
) {
  unsafe LentPointer.takeBack(data, as: ContextData.self)
}

#endif
