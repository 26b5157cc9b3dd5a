// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

internal import COpenSSL
internal import SocketStreams

/// OpenSSL's `X509`.
///
/// `@unchecked Sendable`: the pointer never changes, nobody changes the certificate, and OpenSSL guards what it
/// caches in it.
@safe
final class Certificate: @unchecked Sendable {
  let pointer: OpaquePointer

  /// Takes over a reference.
  init(taking pointer: OpaquePointer) { unsafe self.pointer = pointer }

  deinit { unsafe X509_free(pointer) }

  /// Takes one certificate, DER, and nothing behind it.
  convenience init(der: [UInt8]) throws(StreamError) {
    OpenSSLLibrary.prepare()
    defer { ErrorQueue.clear() }
    let (made, taken) = unsafe der.withUnsafeBufferPointer { bytes in
      var position = bytes.baseAddress
      let made = unsafe d2i_X509(nil, &position, bytes.count)
      return unsafe (made, position.map { unsafe $0 - bytes.baseAddress! } ?? 0)
    }
    guard let made = unsafe made else { throw .badCertificate("this is no certificate") }
    unsafe self.init(taking: made)
    guard taken == der.count else { throw .badCertificate("there are bytes behind the certificate") }
  }

  /// As the API has it.
  var value: TLSCertificate { unsafe Self.value(of: pointer) }

  /// What the API has for an `X509` that somebody else owns.
  @unsafe
  static func value(of pointer: OpaquePointer) -> TLSCertificate {
    TLSCertificate(known: unsafe encoded(by: { unsafe i2d_X509(pointer, $0) }))
  }

  /// Whether its own key vouches for it, so that it can be the end of a chain.
  var isSelfSigned: Bool { unsafe X509_self_signed(pointer, 0) == 1 }

  /// Whether it is for `name`, by its alternative names only.
  func isFor(_ name: String, wildcards: Bool) -> Bool {
    let flags = Self.nameFlags | (wildcards ? 0 : UInt32(X509_CHECK_FLAG_NO_WILDCARDS))
    return unsafe X509_check_host(pointer, name, name.utf8.count, flags, nil) == 1
  }

  /// How names are compared: a wildcard is a whole label, and the common name is no name.
  static let nameFlags = UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)

  /// The SHA-256 hash of the public key of a certificate, DER; nothing if `der` is none.
  static func keyHash(of der: [UInt8]) -> [UInt8] {
    guard let certificate = try? Certificate(der: der) else { return [] }
    return unsafe keyHash(of: certificate.pointer)
  }

  /// The same of an `X509` that somebody else owns.
  @unsafe
  static func keyHash(of pointer: OpaquePointer) -> [UInt8] {
    let key = unsafe X509_get_X509_PUBKEY(pointer)
    let encodedKey = unsafe encoded(by: { unsafe i2d_X509_PUBKEY(key, $0) })
    return unsafe [UInt8](unsafeUninitializedCapacity: 32) { hash, count in
      var length: UInt32 = 0
      let isDone = unsafe EVP_Digest(
        encodedKey, encodedKey.count, hash.baseAddress, &length, EVP_sha256(), nil)
      count = isDone == 1 ? Int(length) : 0
    }
  }

  /// What one of OpenSSL's `i2d` functions writes.
  private static func encoded(by encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32)
    -> [UInt8]
  {
    let length = encode(nil)
    guard length > 0 else { return [] }
    return unsafe [UInt8](unsafeUninitializedCapacity: Int(length)) { bytes, count in
      var position = bytes.baseAddress
      count = unsafe Int(max(0, encode(&position)))
    }
  }
}

extension StreamError {
  /// - Parameter path: Where the certificate or the key is from; `nil` for bytes in memory.
  static func badCertificate(_ detail: String, of path: String? = nil) -> StreamError {
    .tls(.badCertificate, path.map { "read \($0)" } ?? "read a certificate", detail: detail)
  }
}

#endif
