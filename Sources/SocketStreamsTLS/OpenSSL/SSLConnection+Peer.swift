// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What both sides agreed upon, as the API tells it.

#if TLS

internal import COpenSSL

extension SSLConnection {
  /// What was agreed upon. The handshake is done.
  var peer: TLSPeer {
    TLSPeer(
      version: TLSVersion(rawValue: UInt16(truncatingIfNeeded: unsafe SSL_version(ssl))),
      cipher: unsafe String(cString: SSL_CIPHER_standard_name(SSL_get_current_cipher(ssl))),
      applicationProtocol: applicationProtocol,
      certificates: peerCertificates,
      serverName: unsafe SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map {
        unsafe String(cString: $0)
      },
      isResumed: unsafe SSL_session_reused(ssl) == 1)
  }

  private var applicationProtocol: String? {
    var start: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    unsafe SSL_get0_alpn_selected(ssl, &start, &count)
    guard count > 0 else { return nil }
    return unsafe String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
  }

  /// The peer's certificates, its own first. None if it showed none.
  private var peerCertificates: [TLSCertificate] {
    guard let own = unsafe SSL_get1_peer_certificate(ssl) else { return [] }
    defer { unsafe X509_free(own) }
    // A server's list lacks the client's own certificate, a client's begins with the server's.
    let chain = unsafe OpenSSLList.elements(of: SSL_get_peer_cert_chain(ssl))
    let others = unsafe chain.first.map { unsafe X509_cmp($0, own) } == 0 ? chain.dropFirst() : chain[...]
    return unsafe [Certificate.value(of: own)] + others.map { unsafe Certificate.value(of: $0) }
  }
}

#endif
