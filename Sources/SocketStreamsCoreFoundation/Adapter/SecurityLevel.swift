// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The values of kCFStreamPropertySocketSecurityLevel, in CoreFoundation's spelling and in Foundation's.

/// How a connection is secured.
enum SecurityLevel: String {
  case none = "None"
  case ssl2 = "SSLv2"
  case ssl3 = "SSLv3"
  case tls1 = "TLSv1"
  case negotiated = "NegotiatedSSL"

  /// Reads `kCFStreamSocketSecurityLevel…` or `NSStreamSocketSecurityLevel…`.
  init?(name: String) {
    for prefix in ["kCFStreamSocketSecurityLevel", "NSStreamSocketSecurityLevel"] where name.hasPrefix(prefix)
    {
      self.init(rawValue: String(name.dropFirst(prefix.count)))
      return
    }
    return nil
  }
}
