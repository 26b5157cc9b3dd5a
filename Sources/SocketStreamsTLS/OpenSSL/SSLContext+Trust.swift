// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Whom a context believes, and what it asks of the peer.

#if TLS

internal import COpenSSL
internal import SocketStreams

extension SSLContext {
  /// Sets the roots and what of the peer is checked.
  func setTrust(_ settings: TLSSettings) throws(StreamError) {
    let parameters = unsafe SSL_CTX_get0_param(pointer)
    unsafe X509_VERIFY_PARAM_set_hostflags(parameters, Certificate.nameFlags)
    unsafe SSL_CTX_set_verify(pointer, Self.mode(settings), nil)
    guard settings.checksChain else { return }
    // Succeeds where there are no roots, too; then nobody is believed.
    if settings.roots.areSystems { _ = unsafe SSL_CTX_set_default_verify_paths(pointer) }
    for root in settings.roots.own { try trust(Certificate(der: root.der), settings.role) }
  }

  private static func mode(_ settings: TLSSettings) -> Int32 {
    switch (settings.role, settings.clientCertificates) {
    // The callback decides, which finds nothing wrong if nothing is to be verified.
    case (.client, _): SSL_VERIFY_PEER
    case (.server, .notAsked): SSL_VERIFY_NONE
    case (.server, .optional): SSL_VERIFY_PEER
    case (.server, .required): SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
    }
  }

  private func trust(_ root: Certificate, _ role: TLSSettings.Role) throws(StreamError) {
    let store = unsafe SSL_CTX_get_cert_store(pointer)
    guard unsafe X509_STORE_add_cert(store, root.pointer) == 1 else {
      throw .badSettings("a root cannot be used: \(ErrorQueue.takeReason())")
    }
    // OpenSSL ends a chain at a root that vouches for itself, unless told that any trusted certificate will do.
    if !root.isSelfSigned {
      _ = unsafe X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(pointer), UInt(X509_V_FLAG_PARTIAL_CHAIN))
    }
    if role == .server { _ = unsafe SSL_CTX_add_client_CA(pointer, root.pointer) }
  }
}

#endif
