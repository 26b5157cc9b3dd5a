// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a failed call of OpenSSL comes to. Decides by numbers only, which are OpenSSL 3's and those of TLS itself; the tables
// are in the file beside this one.

#if TLS

internal import SocketStreams

/// What a connection was at when it failed.
enum TLSPhase: Sendable {
  case handshake, reading, writing

  /// How a `StreamError` names it.
  var operation: String {
    switch self {
    case .handshake: "TLS handshake"
    case .reading: "read"
    case .writing: "write"
    }
  }
}

/// What OpenSSL tells of a failed call.
struct TLSFailure: Equatable, Sendable {
  /// Who found the fault.
  enum Finder: Equatable, Sendable {
    /// The connection below, with its `errno`.
    case wire(Int32)
    /// The connection below ended, and OpenSSL has nothing to say about it.
    case end
    /// OpenSSL: the part of it and the reason, as `ERR_GET_LIB` and `ERR_GET_REASON` tell them.
    case library(Int32, reason: Int32)
    /// `SSL_get_error` answered what it never should for such a connection.
    case nobody
  }

  let finder: Finder
  /// Why the peer's certificates were refused: `SSL_get_verify_result`. Counts only if the reason is that they were.
  var verifyResult = 0
  /// OpenSSL's own words.
  var words = ""

  /// The failure as the streams tell it.
  func error(in phase: TLSPhase) -> StreamError {
    if case .wire(let code) = finder { return .posix(code, phase.operation) }
    return .tls(code, phase.operation, detail: detail)
  }

  /// OpenSSL's words, but for what it only knows as a check of somebody else's.
  private var detail: String {
    guard case .library(Library.ssl, Reason.certificateVerifyFailed) = finder,
      verifyResult == Self.applicationVerification
    else { return words }
    return "no pinned key is in the chain"
  }

  /// Whether it was the peer's certificates that were refused.
  static func isRefusedCertificate(library: Int32, reason: Int32) -> Bool {
    library == Library.ssl && reason == Reason.certificateVerifyFailed
  }

  private var code: StreamError.TLS {
    switch finder {
    case .wire, .nobody: .internalError
    case .end: .closedWithoutNotice
    case .library(Library.ssl, let reason): sslCode(reason)
    case .library(let library, let reason): Self.foreignCode(library, reason)
    }
  }

  private func sslCode(_ reason: Int32) -> StreamError.TLS {
    if reason == Reason.certificateVerifyFailed {
      return Self.refusedCertificates[verifyResult] ?? .chainInvalid
    }
    if reason & Reason.isCommon != 0 { return Self.commonCode(reason) }
    if reason > Reason.alerts { return Self.alerts[reason - Reason.alerts] ?? .peerAlert }
    return Self.reasons[reason] ?? .protocolError
  }

  /// Reasons that all parts of OpenSSL share. Those below 256 only name the part that failed.
  private static func commonCode(_ reason: Int32) -> StreamError.TLS {
    let number = reason & Reason.commonNumbers
    return number < 256 ? foreignCode(number, 0) : .internalError
  }

  /// A part of OpenSSL other than the protocol failed.
  private static func foreignCode(_ library: Int32, _ reason: Int32) -> StreamError.TLS {
    if reason & Reason.isCommon != 0, reason & Reason.commonNumbers == Reason.outOfMemory {
      return .internalError
    }
    return Library.certificates.contains(library) ? .badCertificate : .cryptoFailed
  }

  private enum Library {
    /// `ERR_LIB_SSL`
    static let ssl: Int32 = 20
    /// `ERR_LIB_PEM`, `ERR_LIB_X509`, `ERR_LIB_ASN1`, `ERR_LIB_X509V3`
    static let certificates: Set<Int32> = [9, 11, 13, 34]
  }

  private enum Reason {
    /// `SSL_R_CERTIFICATE_VERIFY_FAILED`
    static let certificateVerifyFailed: Int32 = 134
    /// `SSL_AD_REASON_OFFSET`: what an alert's number is added to.
    static let alerts: Int32 = 1_000
    /// `ERR_RFLAG_COMMON`, and the bits below the flags.
    static let isCommon: Int32 = 2 << 18
    static let commonNumbers: Int32 = (1 << 18) - 1
    /// `ERR_R_MALLOC_FAILURE` without its flags.
    static let outOfMemory: Int32 = 256
  }
}

#endif
