// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What errors say.

internal import Glibc

extension StreamError: CustomStringConvertible {
  /// Why, in words: the C library's text for the code, or this library's own.
  public var reason: String {
    switch domain {
    case .posix: Self.text(ofErrno: code)
    case .resolver: Self.text(ofResolverCode: code)
    case .streams: Misuse(rawValue: code)?.text ?? Frame(rawValue: code)?.text ?? "unknown failure"
    case .tls: TLS(rawValue: code)?.text ?? "TLS failure"
    case .http: "HTTP failure"
    default: "unknown failure"
    }
  }

  /// The operation, the reason and the code: `connect: Connection refused (POSIX 111)`. What the failing library says,
  /// and the addresses that were tried, follow.
  public var description: String {
    var text = "\(operation): \(reason) (\(domain) \(code)\(detail.isEmpty ? "" : ": \(detail)"))"
    if !attempts.isEmpty { text += "; tried " + attempts.map(\.description).joined(separator: ", ") }
    return text
  }

  private static func text(ofErrno code: Int32) -> String {
    // The longest text of glibc has about 50 bytes; a longer one would be cut, not overrun.
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
      let text = unsafe room.baseAddress.unsafelyUnwrapped
      guard unsafe strerror_r(code, text, room.count) == 0 else { return "Unknown error \(code)" }
      return unsafe String(cString: text)
    }
  }

  private static func text(ofResolverCode code: Int32) -> String {
    // glibc answers with a constant of its own, also for codes that it does not know.
    unsafe gai_strerror(code).map { unsafe String(cString: $0) } ?? "unknown failure"
  }
}

extension StreamError {
  /// Whether a time limit has passed: `ETIMEDOUT`, whoever's limit it was.
  public var isTimedOut: Bool { domain == .posix && code == Errno.timedOut }
}

extension StreamError.Domain: CustomStringConvertible {
  /// The name of the domain, or its number.
  public var description: String {
    switch self {
    case .posix: "POSIX"
    case .tls: "TLS"
    case .http: "HTTP"
    case .resolver: "resolver"
    case .streams: "streams"
    default: "domain \(rawValue)"
    }
  }
}

extension ConnectAttempt: CustomStringConvertible {
  /// The address, and why it failed: `127.0.0.1:80 (Connection refused)`.
  public var description: String { "\(address) (\(StreamError.posix(code, "").reason))" }
}

extension StreamError.Misuse {
  fileprivate var text: String {
    switch self {
    case .notOpen: "the stream is not open"
    case .queueFull: "the queue is full"
    case .badAddress: "bad address"
    case .unsupported: "not supported by this stream"
    case .busy: "the stream is lending bytes"
    case .secured: "the stream is secured already"
    case .unreadBytes: "there are unread bytes of before"
    case .notSecured: "the stream is not secured"
    }
  }
}

extension StreamError.Frame {
  fileprivate var text: String {
    switch self {
    case .cut: "the stream ended before the frame was whole"
    case .tooLong: "the frame is over its limit"
    case .malformed: "the frame is malformed"
    }
  }
}

extension StreamError.TLS {
  fileprivate var text: String {
    switch self {
    case .protocolError: "the peer does not speak TLS properly"
    case .closedWithoutNotice: "the connection was cut without the end of TLS"
    case .chainInvalid: "the certificate chain is not valid"
    case .badCertificate: "the certificate cannot be used"
    case .cryptoFailed: "cryptography failed"
    case .internalError: "internal TLS failure"
    case .unknownRoot: "the certificate is of an authority that is not trusted"
    case .unknownIssuer: "the issuer of the certificate is not known"
    case .certificateExpired: "the certificate has expired"
    case .certificateNotYetValid: "the certificate is not valid yet"
    case .noCommonVersion: "no TLS version in common"
    case .peerBadCertificate: "the peer refused the certificate"
    case .peerUnsupportedCertificate: "the peer does not use such certificates"
    case .peerCertificateRevoked: "the peer says that the certificate was revoked"
    case .peerCertificateExpired: "the peer says that the certificate has expired"
    case .peerCertificateUnknown: "the peer did not accept the certificate"
    case .peerUnknownIssuer: "the peer does not know the certificate's issuer"
    case .peerAccessDenied: "the peer denied access"
    case .peerHandshakeFailure: "the peer could not agree to a connection"
    case .peerInternalError: "the peer had an internal error"
    case .peerAlert: "the peer ended the connection with an alert"
    case .wrongHost: "the certificate is for another host"
    case .badRecord: "a record was damaged"
    case .badSettings: "the TLS settings cannot be used"
    case .noCommonCipher: "no cipher in common"
    case .certificateRequired: "a certificate is required"
    case .unrecognizedName: "the server does not have that name"
    case .certificateRevoked: "the certificate was revoked"
    case .noCommonProtocol: "no application protocol in common"
    case .notApproved: "the certificate was not approved"
    }
  }
}
