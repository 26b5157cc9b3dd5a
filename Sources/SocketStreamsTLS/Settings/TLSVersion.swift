// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

/// A version of TLS.
public struct TLSVersion: RawRepresentable, Comparable, Hashable, Sendable {
  /// The number that the protocol gives it: 0x0301 for TLS 1.0, and one more for each later version.
  public let rawValue: UInt16
  /// Names a version by its number, whether or not OpenSSL knows it.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// TLS 1.0, which nobody should use any more.
  public static let tls10 = TLSVersion(rawValue: 0x0301)
  /// TLS 1.1, which nobody should use any more.
  public static let tls11 = TLSVersion(rawValue: 0x0302)
  /// TLS 1.2.
  public static let tls12 = TLSVersion(rawValue: 0x0303)
  /// TLS 1.3.
  public static let tls13 = TLSVersion(rawValue: 0x0304)

  /// Whether one is older than the other.
  public static func < (a: TLSVersion, b: TLSVersion) -> Bool { a.rawValue < b.rawValue }
}

extension TLSVersion: CustomStringConvertible {
  /// `"TLS 1.3"`, or the number of a version that has no name here.
  public var description: String {
    switch self {
    case .tls10: "TLS 1.0"
    case .tls11: "TLS 1.1"
    case .tls12: "TLS 1.2"
    case .tls13: "TLS 1.3"
    default: "TLS version \(rawValue)"
    }
  }
}

#endif
