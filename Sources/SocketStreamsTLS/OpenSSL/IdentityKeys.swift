// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

internal import COpenSSL
internal import SocketStreams

/// An identity's certificates and its key, as OpenSSL has them.
///
/// `@unchecked Sendable`: everything in it is constant, and so is the list that the pointer is of.
@safe
final class IdentityKeys: @unchecked Sendable {
  /// Where certificates or a key are to be found.
  struct Source {
    let bytes: [UInt8]
    /// For errors; `nil` if they are not from a file.
    let path: String?
  }

  /// The identity's own, and those that vouch for it.
  let leaf: Certificate
  let issuers: [Certificate]
  let key: PrivateKey
  /// As the API has them, the identity's own first.
  let certificates: [TLSCertificate]
  /// `issuers` as OpenSSL's list, which holds no references.
  let chain: OpaquePointer

  /// Reads both, and checks that they belong together.
  convenience init(_ source: Source, key keySource: Source, passphrase: String?) throws(StreamError) {
    if let bag = try PKCS12Bag(source, passphrase: passphrase) {
      let isSame = keySource.bytes == source.bytes
      let key =
        try isSame ? bag.key : PrivateKey(in: keySource.bytes, of: keySource.path, passphrase: passphrase)
      guard let key else { throw .badCertificate("there is no private key in it", of: source.path) }
      try self.init(bag.certificates, key, source.path)
    } else {
      let certificates = try Certificate.all(in: source.bytes, of: source.path)
      let key = try PrivateKey(in: keySource.bytes, of: keySource.path, passphrase: passphrase)
      try self.init(certificates, key, keySource.path)
    }
  }

  /// - Parameter certificates: At least one.
  private init(_ certificates: [Certificate], _ key: PrivateKey, _ path: String?) throws(StreamError) {
    leaf = certificates[0]
    issuers = Array(certificates.dropFirst())
    self.key = key
    self.certificates = certificates.map(\.value)
    guard let list = unsafe OPENSSL_sk_new_null() else { fatalError("read a certificate: out of memory") }
    unsafe chain = list
    for issuer in issuers { _ = unsafe OPENSSL_sk_push(chain, UnsafeRawPointer(issuer.pointer)) }
    ErrorQueue.clear()
    guard unsafe X509_check_private_key(leaf.pointer, key.pointer) == 1 else {
      ErrorQueue.clear()
      throw .badCertificate("the key does not belong to the first certificate", of: path)
    }
  }

  deinit { unsafe OPENSSL_sk_free(chain) }

  /// Whether the identity's own certificate is for `name`.
  func isFor(_ name: String, wildcards: Bool) -> Bool { leaf.isFor(name, wildcards: wildcards) }
}

#endif
