// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

public import SocketStreams

/// An X.509 certificate: somebody's name and public key, and who vouches for them.
public struct TLSCertificate: Hashable, Sendable {
  /// The certificate, DER.
  public let der: [UInt8]

  /// Takes one certificate, DER.
  /// - Throws: `StreamError.TLS.badCertificate` if `der` is no certificate, or not one only.
  public init(der: [UInt8]) throws(StreamError) {
    _ = try Certificate(der: der)
    self.der = der
  }

  /// For bytes that OpenSSL made of a certificate of its own.
  init(known der: [UInt8]) { self.der = der }

  /// The certificates of a file, in its order: PEM, one or more, whatever else the file has in it; or DER, one.
  /// - Throws: A POSIX error with the path in its operation if the file cannot be read;
  ///   `StreamError.TLS.badCertificate` if there is none in it, or one that is damaged.
  public static func certificates(inFile path: String) throws(StreamError) -> [TLSCertificate] {
    try Certificate.all(in: FileBytes.read(path), of: path).map(\.value)
  }

  /// The certificates in `bytes`, in their order: PEM, one or more, whatever else there is; or DER, one.
  /// - Throws: `StreamError.TLS.badCertificate` if there is none, or one that is damaged.
  public static func certificates(in bytes: [UInt8]) throws(StreamError) -> [TLSCertificate] {
    try Certificate.all(in: bytes, of: nil).map(\.value)
  }

  /// The SHA-256 hash of its public key (the DER of `SubjectPublicKeyInfo`), 32 bytes: what
  /// ``TLSSettings/pinnedKeys`` has. It stays the same when a certificate is renewed for the same key.
  public var keyHash: [UInt8] { Certificate.keyHash(of: der) }
}

#endif
