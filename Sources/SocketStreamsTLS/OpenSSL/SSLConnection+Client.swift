// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a client says of the peer that it means, before the handshake.

#if TLS

internal import COpenSSL
internal import SocketStreams

extension SSLConnection {
  /// Sends a name to the server, which may choose its certificate by it. (RFC 6066 knows no addresses.)
  func sendName(_ name: PeerName) throws(StreamError) {
    guard !name.isAddress else { return }
    guard unsafe ss_set_host_name(ssl, name.text) == 1 else { throw Self.badName(name) }
  }

  /// Has the handshake fail unless the certificate is for `name`, compared as the context says.
  func require(_ name: PeerName) throws(StreamError) {
    let result =
      unsafe name.isAddress
      ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.text) : SSL_set1_host(ssl, name.text)
    guard result == 1 else { throw Self.badName(name) }
  }

  /// Offers a session of before. OpenSSL looks at whether it fits, and does without it if not.
  func offer(_ session: SSLSession) {
    _ = unsafe SSL_set_session(ssl, session.pointer)
    ErrorQueue.clear()
  }

  private static func badName(_ name: PeerName) -> StreamError {
    ErrorQueue.clear()
    return .badSettings("the name \(name.text) cannot be used")
  }
}

#endif
