// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The values of kCFStreamPropertySocketSecurityLevel, in CoreFoundation's spelling and in Foundation's.

/// How a connection is secured.
enum SecurityLevel: String {
  /// Not at all.
  case none = "None"
  case ssl2 = "SSLv2"
  case ssl3 = "SSLv3"
  /// TLS, and by its first version too.
  case tls1 = "TLSv1"
  /// TLS, by the best version that both sides have.
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

  /// As `kCFStreamSocketSecurityLevel…`, which is Foundation's spelling too, but for the broken kinds.
  var name: String { "kCFStreamSocketSecurityLevel\(rawValue)" }

  /// Whether it is no security at all, whatever it says: these protocols are broken.
  var isBroken: Bool { self == .ssl2 || self == .ssl3 }
}
