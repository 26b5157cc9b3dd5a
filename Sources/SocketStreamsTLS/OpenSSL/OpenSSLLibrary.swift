// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

internal import COpenSSL

/// OpenSSL as a whole.
enum OpenSSLLibrary {
  /// Comes before the first use of OpenSSL here.
  ///
  /// OpenSSL would free all that it has when the process exits, while threads of event bases are in its functions. The
  /// kernel takes the memory anyway. If somebody else in the process has used OpenSSL before, it is too late, and as it was.
  static func prepare() { _ = isPrepared }

  private static let isPrepared = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}

#endif
