// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A handshake of two contexts in memory: what a client and a server with these settings come to, without any of what
// moves their bytes.

#if TLS

import COpenSSL
import SocketStreams
import Testing

@testable import SocketStreamsTLS

/// A client and a server, wire to wire.
final class MemoryHandshake {
  /// How one side got on.
  final class Side {
    let ssl: OpaquePointer
    private(set) var isDone = false
    /// OpenSSL's words; `nil` if it did not fail.
    private(set) var failure: String?

    init(_ context: SSLContext, isServer: Bool) {
      ssl = SSL_new(context.pointer)
      if isServer { SSL_set_accept_state(ssl) } else { SSL_set_connect_state(ssl) }
    }

    deinit { SSL_free(ssl) }

    /// Goes on, if there is anything to go on with.
    func step() {
      guard !isDone && failure == nil else { return }
      ErrorQueue.clear()
      let result = SSL_do_handshake(ssl)
      if result == 1 { return isDone = true }
      if SSL_get_error(ssl, result) == SSL_ERROR_SSL { failure = ErrorQueue.takeReason() }
    }

    /// Reads what is there: nothing but an end, an alert or tickets.
    func drain() {
      var byte: UInt8 = 0
      ErrorQueue.clear()
      let result = SSL_read(ssl, &byte, 1)
      if result <= 0, SSL_get_error(ssl, result) == SSL_ERROR_SSL { failure = ErrorQueue.takeReason() }
    }

    var version: TLSVersion { TLSVersion(rawValue: UInt16(SSL_version(ssl))) }
    var cipher: String { String(cString: SSL_CIPHER_get_name(SSL_get_current_cipher(ssl))) }
    var isResumed: Bool { SSL_session_reused(ssl) == 1 }
    var verifyResult: Int32 { Int32(SSL_get_verify_result(ssl)) }

    var applicationProtocol: String? {
      var name: UnsafePointer<UInt8>?
      var count: UInt32 = 0
      SSL_get0_alpn_selected(ssl, &name, &count)
      return count == 0
        ? nil : String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }

    /// The other side's certificates as it sent them: to a client, its own first.
    var peerChain: [TLSCertificate] {
      let chain = SSL_get_peer_cert_chain(ssl)
      return (0..<max(0, OPENSSL_sk_num(chain))).map {
        Certificate.value(of: OpaquePointer(OPENSSL_sk_value(chain, $0)!))
      }
    }
  }

  let client: Side
  let server: Side
  /// Whether both sides agree, in the client's eyes and the server's.
  var isDone: Bool { client.isDone && server.isDone && client.failure == nil && server.failure == nil }

  /// Makes the handshake.
  /// - Parameters:
  ///   - name: What the client asks for and checks.
  ///   - session: What the client offers to go on with.
  init(_ client: SSLContext, _ server: SSLContext, name: String? = "localhost", session: OpaquePointer? = nil)
  {
    self.client = Side(client, isServer: false)
    self.server = Side(server, isServer: true)
    var ends: (OpaquePointer?, OpaquePointer?)
    BIO_new_bio_pair(&ends.0, 100_000, &ends.1, 100_000)
    SSL_set_bio(self.client.ssl, ends.0, ends.0)
    SSL_set_bio(self.server.ssl, ends.1, ends.1)
    if let name {
      _ = ss_set_host_name(self.client.ssl, name)
      SSL_set1_host(self.client.ssl, name)
    }
    if let session { SSL_set_session(self.client.ssl, session) }
    for _ in 0..<10 {
      self.client.step()
      self.server.step()
    }
    // In TLS 1.3 a client is done before the server has looked at its certificate.
    if self.client.isDone { self.client.drain() }
  }

  convenience init(_ client: TLSSettings, _ server: TLSSettings, name: String? = "localhost") throws {
    try self.init(SSLContext(client), SSLContext(server), name: name)
  }

  /// The client's session, after an end in order, without which OpenSSL takes it for lost.
  func takeSession() -> OpaquePointer? {
    SSL_shutdown(client.ssl)
    SSL_shutdown(server.ssl)
    client.drain()
    return SSL_get1_session(client.ssl)
  }
}

#endif
