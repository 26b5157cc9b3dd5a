// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What OpenSSL has to know of settings, for any number of connections. Which peer a connection is for, and what is
// asked after the handshake, is up to the connection.

#if TLS

internal import COpenSSL
internal import SocketStreams

/// OpenSSL's `SSL_CTX`.
///
/// `@unchecked Sendable`: the pointer never changes, and the context is not changed once it is made; what OpenSSL
/// itself changes in it, it guards.
@safe
final class SSLContext: @unchecked Sendable {
  let pointer: OpaquePointer

  /// Makes a context; ``SSLContextCache`` spares that for settings in use.
  /// - Parameter settings: Passed `check()`, with the parts that a context need not know.
  /// - Throws: `StreamError.TLS.badSettings`, or `StreamError.TLS.badCertificate` for an identity that OpenSSL
  ///   finds too weak.
  init(_ settings: TLSSettings) throws(StreamError) {
    OpenSSLLibrary.prepare()
    ErrorQueue.clear()
    guard let made = unsafe SSL_CTX_new(TLS_method()) else {
      throw .tls(.internalError, "TLS settings", detail: ErrorQueue.takeReason())
    }
    unsafe pointer = made
    unsafe ss_ctx_set_options_always(pointer)
    // An idle connection has no buffers; a busy one takes what has arrived in one read of the wire, be it two records.
    // Chains are sent as they were given: OpenSSL would add what it finds among the roots, anew for each connection.
    _ = unsafe ss_ctx_set_mode(
      pointer,
      Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER) | Int(SSL_MODE_RELEASE_BUFFERS) | Int(SSL_MODE_NO_AUTO_CHAIN)
    )
    unsafe ss_ctx_set_read_ahead(pointer)
    unsafe SSL_CTX_set_default_read_buffer_len(pointer, Self.readBufferSize)
    try setVersions(settings)
    try setCiphers(settings)
    if let identity = settings.identity { try use(identity.keys) }
    try setTrust(settings)
    setResumption(settings)
    try setCallbacks(settings)
    ErrorQueue.clear()
  }

  deinit { unsafe SSL_CTX_free(pointer) }

  private func setVersions(_ settings: TLSSettings) throws(StreamError) {
    // OpenSSL 3 signs handshakes below TLS 1.2 with SHA-1, which only level 0 allows. First, so that the caller's
    // list of ciphers can name a level itself.
    if settings.minimumVersion < .tls12 { unsafe SSL_CTX_set_security_level(pointer, 0) }
    // 0 is the highest that there is.
    let highest = Int32(settings.maximumVersion?.rawValue ?? 0)
    guard
      unsafe ss_ctx_set_min_version(pointer, Int32(settings.minimumVersion.rawValue)) == 1,
      unsafe ss_ctx_set_max_version(pointer, highest) == 1
    else { throw .badSettings("OpenSSL here has not these versions: \(ErrorQueue.takeReason())") }
  }

  private func setCiphers(_ settings: TLSSettings) throws(StreamError) {
    // Ciphers without certificates would pass by all that verifies them, or looks for a pinned key; on a server too.
    let isAnybodyWelcome = settings.verification == .dangerouslyNone && settings.pinnedKeys.isEmpty
    // Those that encrypt nothing are in many of the names for several: `ECDHE` has some.
    let exception = isAnybodyWelcome ? ":!eNULL" : ":!eNULL:!aNULL"
    if let list = settings.ciphers, unsafe SSL_CTX_set_cipher_list(pointer, list + exception) != 1 {
      throw .badSettings("the list of ciphers \"\(list)\" names none: \(ErrorQueue.takeReason())")
    }
    if let list = settings.cipherSuites {
      // 3.0: SSL_CTX_set_ciphersuites passes over what it does not know.
      guard unsafe SSL_CTX_set_ciphersuites(pointer, list) == 1,
        list.split(separator: ":", omittingEmptySubsequences: false).allSatisfy({ hasCipher(String($0)) })
      else { throw .badSettings("not all of the cipher suites \"\(list)\" exist") }
    }
    // Suites of TLS 1.3 that encrypt nothing are known since 3.4; and the system's configuration may have a list, too.
    if let name = plainCipher { throw .badSettings("the cipher \(name) encrypts nothing") }
  }

  private func hasCipher(_ name: String) -> Bool {
    unsafe OpenSSLList.elements(of: SSL_CTX_get_ciphers(pointer)).contains {
      unsafe String(cString: SSL_CIPHER_get_name($0)) == name
    }
  }

  /// One of the ciphers that leave the bytes as they are.
  private var plainCipher: String? {
    unsafe OpenSSLList.elements(of: SSL_CTX_get_ciphers(pointer))
      .first { unsafe SSL_CIPHER_get_bits($0, nil) == 0 }
      .map { unsafe String(cString: SSL_CIPHER_get_name($0)) }
  }

  private func use(_ keys: IdentityKeys) throws(StreamError) {
    let code = unsafe SSL_CTX_use_cert_and_key(pointer, keys.leaf.pointer, keys.key.pointer, keys.chain, 1)
    guard code == 1 else {
      throw .tls(
        .badCertificate, "TLS settings", detail: "the identity cannot be used: \(ErrorQueue.takeReason())")
    }
  }

  private func setResumption(_ settings: TLSSettings) {
    guard settings.resumesSessions else {
      unsafe ss_ctx_set_no_tickets(pointer)
      _ = unsafe SSL_CTX_set_num_tickets(pointer, 0)
      _ = unsafe ss_ctx_set_session_cache_mode(pointer, Int(SSL_SESS_CACHE_OFF))
      return
    }
    // Without a name for its sessions, a server refuses to go on with those that had a client's certificate.
    let name: StaticString = "SocketStreams"
    _ = unsafe SSL_CTX_set_session_id_context(pointer, name.utf8Start, UInt32(name.utf8CodeUnitCount))
    switch settings.role {
    case .client: unsafe SSLSession.handOut(pointer)
    // Tickets are given away, and nothing is kept.
    case .server:
      _ = unsafe ss_ctx_set_session_cache_mode(
        pointer, Int(SSL_SESS_CACHE_SERVER | SSL_SESS_CACHE_NO_INTERNAL))
    }
  }

  /// Two records of the largest kind, each with its head and what secures it.
  private static let readBufferSize = 2 * (16_384 + 5 + 256)
}

#endif
