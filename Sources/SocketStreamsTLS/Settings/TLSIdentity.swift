// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

public import SocketStreams

/// A certificate, those that vouch for it, and its private key: what one side proves to be.
///
/// The key stays in memory as long as the identity or settings with it are in use, and for some time after.
public struct TLSIdentity: Hashable, Sendable {
  /// OpenSSL's objects.
  let keys: IdentityKeys

  /// Reads files: PEM or DER, told apart by what is in them, or PKCS #12 for both in one.
  ///
  /// - Parameters:
  ///   - certificateFile: The certificate, and after it those that vouch for it, without the root.
  ///   - keyFile: The key, in any form that OpenSSL knows (PKCS #8, SEC 1, PKCS #1). `nil`: it is in `certificateFile`.
  ///   - passphrase: For an encrypted key; nobody is ever asked for it. Not looked at if the key is not encrypted.
  /// - Throws: A POSIX error with the path in its operation if a file cannot be read;
  ///   `StreamError.TLS.badCertificate`, with the reason in `StreamError.detail`, if one has not what it should
  ///   have, if the passphrase is missing or wrong, and if the key belongs to another certificate.
  public init(certificateFile: String, keyFile: String? = nil, passphrase: String? = nil)
    throws(StreamError)
  {
    let certificates = try IdentityKeys.Source(
      bytes: FileBytes.read(certificateFile), path: certificateFile)
    if let keyFile {
      let key = try IdentityKeys.Source(bytes: FileBytes.read(keyFile), path: keyFile)
      keys = try IdentityKeys(certificates, key: key, passphrase: passphrase)
    } else {
      keys = try IdentityKeys(certificates, key: certificates, passphrase: passphrase)
    }
  }

  /// Takes a certificate with those that vouch for it, and its key: PEM or DER each, told apart by what is in them.
  /// The same PEM or PKCS #12 with both can be given twice.
  ///
  /// - Parameters:
  ///   - certificates: The certificate first, and after it those that vouch for it, without the root.
  ///   - key: The key, in any form that OpenSSL knows.
  ///   - passphrase: For an encrypted key. Not looked at if the key is not encrypted.
  /// - Throws: `StreamError.TLS.badCertificate`, with the reason in `StreamError.detail`.
  public init(certificates: [UInt8], key: [UInt8], passphrase: String? = nil) throws(StreamError) {
    keys = try IdentityKeys(
      .init(bytes: certificates, path: nil), key: .init(bytes: key, path: nil), passphrase: passphrase)
  }

  /// The certificates, the identity's own first.
  public var certificates: [TLSCertificate] { keys.certificates }

  /// Whether both have the same certificates. As each key belongs to the first of them, the keys are the same then.
  public static func == (a: TLSIdentity, b: TLSIdentity) -> Bool {
    a.keys === b.keys || a.keys.certificates == b.keys.certificates
  }

  /// Hashes the certificates.
  public func hash(into hasher: inout Hasher) { hasher.combine(keys.certificates) }
}

#endif
