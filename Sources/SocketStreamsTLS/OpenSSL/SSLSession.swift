// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a client and a server agreed upon, for the next connection to build on.

#if TLS

internal import COpenSSL

/// One reference to an `SSL_SESSION`.
///
/// `@unchecked Sendable`: OpenSSL counts its references and changes it under locks of its own.
@safe
final class SSLSession: @unchecked Sendable {
  let pointer: OpaquePointer

  /// Takes over a reference.
  init(adopting pointer: OpaquePointer) { unsafe self.pointer = pointer }

  deinit { unsafe SSL_SESSION_free(pointer) }

  /// Whether a server would still hear of it: OpenSSL takes that away when a connection ends in disorder.
  var isResumable: Bool { unsafe SSL_SESSION_is_resumable(pointer) == 1 }

  /// Since TLS 1.3 one ticket is for one connection, so that nobody can see that two are of the same client.
  var isSingleUse: Bool { unsafe SSL_SESSION_get_protocol_version(pointer) >= TLS1_3_VERSION }

  /// Where an `SSL` keeps its ``SSLConnection``, lent.
  static let connectionIndex: Int32 = {
    let index = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nil, nil, nil, nil)
    precondition(index >= 0, "reserve a place in TLS connections: out of memory")
    return index
  }()

  /// Has the connections of a client's `SSL_CTX` hand out what they agree upon. Before the first of them is made.
  static func handOut(_ context: OpaquePointer) {
    // OpenSSL's own store does not know whom a session is for.
    _ = unsafe ss_ctx_set_session_cache_mode(
      context, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
    unsafe SSL_CTX_sess_set_new_cb(context, newSessionTrampoline)
  }
}

/// - Returns: Whether the reference to the session was taken over.
private let newSessionTrampoline: @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32 = { ssl, session in
  let context = unsafe SSL_get_ex_data(ssl, SSLSession.connectionIndex)
  let sessionArrived = unsafe LentPointer.use(context, as: SSLConnection.self) { $0.sessionArrived }
  guard let sessionArrived = sessionArrived ?? nil, let session = unsafe session else { return 0 }
  sessionArrived(unsafe SSLSession(adopting: session))
  return 1
}

#endif
