// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Settings and contexts for as long as those of their own branch are not merged: goes then.

#if TLS

internal import COpenSSL
public import SocketStreams
internal import Glibc

public struct TLSSettings: Hashable, Sendable {
  public enum Role: Hashable, Sendable { case client, server }
  public enum Verification: Hashable, Sendable { case full, chainOnly, dangerouslyNone }
  public enum ClientCertificates: Hashable, Sendable { case notAsked, optional, required }
  public struct Roots: Hashable, Sendable {
    let own: [TLSCertificate]?
    public static let system = Roots(own: nil)
    public static func only(_ certificates: [TLSCertificate]) -> Roots { Roots(own: certificates) }
  }
  public let role: Role
  public var peerName: String?
  public var verification = Verification.full
  public var roots = Roots.system
  public var approval: TLSApproval?
  public var identity: TLSIdentity?
  public var clientCertificates = ClientCertificates.notAsked
  public var applicationProtocols: [String] = []
  public var minimumVersion = TLSVersion.tls12
  public var maximumVersion: TLSVersion?
  public var ciphers: String?
  public var cipherSuites: String?
  public var resumesSessions = true
  public var handshakeTimeout: Duration? = .seconds(60)
  public static func client(peerName: String? = nil) -> TLSSettings {
    TLSSettings(role: .client, peerName: peerName)
  }
  public static func server(_ identity: TLSIdentity) -> TLSSettings {
    TLSSettings(role: .server, identity: identity)
  }
}

public struct TLSVersion: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }
  public static let tls12 = TLSVersion(rawValue: 0x0303)
  public static let tls13 = TLSVersion(rawValue: 0x0304)
}

public struct TLSCertificate: Hashable, Sendable {
  public let der: [UInt8]
  init(known der: [UInt8]) { self.der = der }
  public static func certificates(inFile path: String) throws(StreamError) -> [TLSCertificate] {
    let bio = unsafe BIO_new_file(path, "r")
    defer { unsafe BIO_free(bio) }
    guard let certificate = unsafe PEM_read_bio_X509(bio, nil, nil, nil) else {
      throw .posix(ENOENT, "read \(path)")
    }
    defer { unsafe X509_free(certificate) }
    return [TLSCertificate(known: unsafe derBytes(certificate))]
  }
}

@unsafe private func derBytes(_ certificate: OpaquePointer) -> [UInt8] {
  var start: UnsafeMutablePointer<UInt8>?
  let count = unsafe i2d_X509(certificate, &start)
  defer { unsafe CRYPTO_free(start, nil, 0) }
  return unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
}

public struct TLSIdentity: Hashable, Sendable {
  let certificateFile: String
  let keyFile: String
  public init(certificateFile: String, keyFile: String? = nil) throws(StreamError) {
    self.certificateFile = certificateFile
    self.keyFile = keyFile ?? certificateFile
  }
}

public struct TLSApproval: Hashable, Sendable {
  private final class Question: Sendable {
    let body: @Sendable (TLSPeer) -> Bool
    init(_ body: @escaping @Sendable (TLSPeer) -> Bool) { self.body = body }
  }
  private let question: Question
  public init(_ body: @escaping @Sendable (TLSPeer) -> Bool) { question = Question(body) }
  func isGiven(to peer: TLSPeer) -> Bool { question.body(peer) }
  public static func == (a: TLSApproval, b: TLSApproval) -> Bool { a.question === b.question }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(question)) }
}

public struct TLSPeer: Hashable, Sendable {
  public let version: TLSVersion
  public let cipher: String
  public let applicationProtocol: String?
  public let certificates: [TLSCertificate]
  public let serverName: String?
  public let isResumed: Bool
}

extension StreamError {
  static func badSettings(_ detail: String) -> StreamError {
    .tls(.badSettings, "TLS settings", detail: detail)
  }
}

enum ErrorQueue {
  static func clear() { ERR_clear_error() }
  static func takeReason() -> String {
    let code = ERR_peek_last_error()
    defer { clear() }
    guard code != 0 else { return "" }
    if let text = unsafe ERR_reason_error_string(code) { return unsafe String(cString: text) }
    return "OpenSSL's error \(String(code, radix: 16))"
  }
}

@safe
final class SSLContext: @unchecked Sendable {
  let pointer: OpaquePointer
  private let protocols: [UInt8]
  deinit { unsafe SSL_CTX_free(pointer) }
  init(_ settings: TLSSettings) throws(StreamError) {
    unsafe pointer = SSL_CTX_new(settings.role == .client ? TLS_client_method() : TLS_server_method())
    protocols = settings.applicationProtocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
    unsafe _ = ss_ctx_set_min_version(pointer, Int32(settings.minimumVersion.rawValue))
    if let version = settings.maximumVersion {
      unsafe _ = ss_ctx_set_max_version(pointer, Int32(version.rawValue))
    }
    unsafe SSL_CTX_set_options(pointer, 1 << 30)  // NO_RENEGOTIATION
    if let own = settings.roots.own {
      for root in own {
        unsafe root.der.withUnsafeBufferPointer { bytes in
          var at = bytes.baseAddress
          let certificate = unsafe d2i_X509(nil, &at, bytes.count)
          unsafe _ = X509_STORE_add_cert(SSL_CTX_get_cert_store(pointer), certificate)
          unsafe X509_free(certificate)
        }
      }
    } else if settings.role == .client {
      unsafe _ = SSL_CTX_set_default_verify_paths(pointer)
    }
    var mode = SSL_VERIFY_NONE
    if settings.role == .client, settings.verification != .dangerouslyNone { mode = SSL_VERIFY_PEER }
    if settings.role == .server, settings.clientCertificates != .notAsked { mode = SSL_VERIFY_PEER }
    if settings.clientCertificates == .required { mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT }
    unsafe SSL_CTX_set_verify(pointer, mode, nil)
    if let identity = settings.identity {
      unsafe _ = SSL_CTX_use_certificate_chain_file(pointer, identity.certificateFile)
      unsafe _ = SSL_CTX_use_PrivateKey_file(pointer, identity.keyFile, SSL_FILETYPE_PEM)
    }
    if let suites = settings.cipherSuites { unsafe _ = SSL_CTX_set_ciphersuites(pointer, suites) }
    if let ciphers = settings.ciphers { unsafe _ = SSL_CTX_set_cipher_list(pointer, ciphers) }
    if settings.role == .server {
      unsafe _ = SSL_CTX_set_session_id_context(pointer, [1], 1)
      if !protocols.isEmpty {
        unsafe SSL_CTX_set_alpn_select_cb(
          pointer,
          { _, out, count, offered, offeredCount, context in
            let own = unsafe Unmanaged<SSLContext>.fromOpaque(context!).takeUnretainedValue().protocols
            var chosen: UnsafeMutablePointer<UInt8>?
            let result = unsafe own.withUnsafeBufferPointer {
              unsafe SSL_select_next_proto(
                &chosen, count, $0.baseAddress, UInt32($0.count), offered, offeredCount)
            }
            // The choice points into the client's list, as it is the same in both.
            guard result == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_ALERT_FATAL }
            let length = unsafe Int(count!.pointee)
            var at = unsafe offered!
            while unsafe Int(at.pointee) != length || memcmp(at + 1, chosen!, length) != 0 {
              unsafe at += Int(at.pointee) + 1
            }
            unsafe out!.pointee = at + 1
            return SSL_TLSEXT_ERR_OK
          }, Unmanaged.passUnretained(self).toOpaque())
      }
    } else {
      if !protocols.isEmpty {
        unsafe _ = SSL_CTX_set_alpn_protos(pointer, protocols, UInt32(protocols.count))
      }
      unsafe SSLSession.handOut(pointer)
    }
  }
  private static let lock = Lock()
  nonisolated(unsafe) private static var known: [TLSSettings: SSLContext] = [:]
  static func shared(for settings: TLSSettings) throws(StreamError) -> SSLContext {
    lock.lock()
    defer { lock.unlock() }
    if let context = unsafe known[settings] { return context }
    let made = try SSLContext(settings)
    unsafe known[settings] = made
    return made
  }
}

#endif
