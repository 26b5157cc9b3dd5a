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

  /// Has the handshake fail unless the certificate is for `name`: for one of its alternative names, as a common name is
  /// no name of a host, and `*` stands for a whole label only.
  func require(_ name: PeerName) throws(StreamError) {
    let result: Int32
    if name.isAddress {
      result = unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.text)
    } else {
      unsafe SSL_set_hostflags(
        ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
      result = unsafe SSL_set1_host(ssl, name.text)
    }
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
