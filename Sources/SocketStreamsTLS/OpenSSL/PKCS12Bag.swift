// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

internal import COpenSSL
internal import SocketStreams

/// What is in a PKCS #12 file (.p12, .pfx): a key, its certificate, and others.
struct PKCS12Bag {
  /// At least one, that of the key first.
  let certificates: [Certificate]
  let key: PrivateKey?

  /// Opens it; `nil` if `source` is something else.
  init?(_ source: IdentityKeys.Source, passphrase: String?) throws(StreamError) {
    OpenSSLLibrary.prepare()
    guard let bag = unsafe Self.decoded(source.bytes) else { return nil }
    defer { unsafe PKCS12_free(bag) }
    ErrorQueue.clear()
    var key: OpaquePointer?
    var leaf: OpaquePointer?
    var others: OpaquePointer?
    guard unsafe PKCS12_parse(bag, passphrase, &key, &leaf, &others) == 1 else {
      let code = ERR_peek_last_error()
      let isLocked =
        ERR_GET_LIB(code) == ERR_LIB_PKCS12 && ERR_GET_REASON(code) == PKCS12_R_MAC_VERIFY_FAILURE
      let reason = ErrorQueue.takeReason()
      let locked =
        passphrase == nil ? "the key is encrypted, and there is no passphrase" : "the passphrase is wrong"
      throw .badCertificate(isLocked ? locked : "PKCS #12: \(reason)", of: source.path)
    }
    var certificates: [Certificate] = []
    if let leaf = unsafe leaf { unsafe certificates.append(Certificate(taking: leaf)) }
    while let other = unsafe OPENSSL_sk_shift(others) {
      unsafe certificates.append(Certificate(taking: OpaquePointer(other)))
    }
    unsafe OPENSSL_sk_free(others)
    self.key = unsafe key.map { unsafe PrivateKey(taking: $0) }
    self.certificates = certificates
    guard !certificates.isEmpty else {
      throw .badCertificate("there is no certificate in it", of: source.path)
    }
  }

  private static func decoded(_ bytes: [UInt8]) -> OpaquePointer? {
    guard bytes.first == 0x30 else { return nil }
    defer { ErrorQueue.clear() }
    return unsafe bytes.withUnsafeBufferPointer { memory in
      var position = memory.baseAddress
      return unsafe d2i_PKCS12(nil, &position, memory.count)
    }
  }
}

#endif
