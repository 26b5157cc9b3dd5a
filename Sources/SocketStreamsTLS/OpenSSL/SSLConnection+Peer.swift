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
      certificates: peerCertificates.map { TLSCertificate(known: $0) },
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

  /// The peer's certificates as DER, its own first. None if it showed none.
  private var peerCertificates: [[UInt8]] {
    guard let own = unsafe SSL_get1_peer_certificate(ssl) else { return [] }
    defer { unsafe X509_free(own) }
    var all = [unsafe Self.der(of: own)]
    guard let chain = unsafe SSL_get_peer_cert_chain(ssl) else { return all }
    let count = unsafe OPENSSL_sk_num(chain)
    for index in 0..<max(0, count) {
      guard let element = unsafe OPENSSL_sk_value(chain, index) else { continue }
      let certificate = OpaquePointer(element)
      // A server's list lacks the client's own certificate, a client's begins with the server's.
      let isOwn = unsafe index == 0 && X509_cmp(certificate, own) == 0
      if !isOwn { all.append(unsafe Self.der(of: certificate)) }
    }
    return all
  }

  private static func der(of certificate: OpaquePointer) -> [UInt8] {
    var start: UnsafeMutablePointer<UInt8>?
    let count = unsafe i2d_X509(certificate, &start)
    defer { unsafe CRYPTO_free(start, nil, 0) }
    guard count > 0 else { return [] }
    return unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
  }
}

#endif
