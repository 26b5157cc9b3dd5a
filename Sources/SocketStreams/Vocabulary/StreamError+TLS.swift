// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The codes of TLS failures. They are here, and not where TLS is, so that whoever gets an error can read it.

extension StreamError {
  /// The codes of the domain ``Domain/tls``, numbered as Secure Transport numbers them (`errSSL…`), which ported code
  /// compares with. Those from -9891 on are what it has no number for.
  public enum TLS: Int32, Sendable {
    /// The peer does not speak TLS as it should, or not at all.
    case protocolError = -9800
    /// The connection ended without the peer's word that it was done (`close_notify`): bytes may be missing.
    case closedWithoutNotice = -9806
    /// The certificate's chain is not in order, in another way than those below.
    case chainInvalid = -9807
    /// A certificate or its key cannot be used.
    case badCertificate = -9808
    /// Cryptography failed in this process.
    case cryptoFailed = -9809
    /// Something that never should happen, in this process.
    case internalError = -9810
    /// The chain ends with a certificate that is no trusted root: the certificate of an unknown authority.
    case unknownRoot = -9812
    /// The issuer of a certificate is not known: the peer left one out, or its root is not trusted.
    case unknownIssuer = -9813
    /// A certificate is no longer valid.
    case certificateExpired = -9814
    /// A certificate is not valid yet.
    case certificateNotYetValid = -9815
    /// Both sides have no version of TLS in common.
    case noCommonVersion = -9836
    /// The peer refused this side's certificate as bad.
    case peerBadCertificate = -9825
    /// The peer does not use certificates of this kind.
    case peerUnsupportedCertificate = -9826
    /// The peer says that this side's certificate was revoked.
    case peerCertificateRevoked = -9827
    /// The peer says that this side's certificate has expired.
    case peerCertificateExpired = -9828
    /// The peer refused this side's certificate for a reason that it does not tell.
    case peerCertificateUnknown = -9829
    /// The peer does not know who issued this side's certificate.
    case peerUnknownIssuer = -9831
    /// The peer let this side in no further.
    case peerAccessDenied = -9832
    /// The peer could not agree: nothing in common, or a certificate that it misses.
    case peerHandshakeFailure = -9824
    /// The peer had an error of its own.
    case peerInternalError = -9838
    /// The peer said another fatal alert; ``StreamError/detail`` has it.
    case peerAlert = -9802
    /// The certificate is for another name or address than the one asked for.
    case wrongHost = -9843
    /// A record's integrity or decryption failed.
    case badRecord = -9846
    /// The settings contradict themselves or name what is not there.
    case badSettings = -9848
    /// Both sides have no cipher, group or signature in common.
    case noCommonCipher = -9858
    /// The client showed no certificate, and the server requires one. Both sides have this error.
    case certificateRequired = -9863
    /// The peer's name for this server is not one that it has.
    case unrecognizedName = -9865
    /// A certificate was revoked.
    case certificateRevoked = -9892
    /// Both sides have no application protocol in common (ALPN).
    case noCommonProtocol = -9893
    /// The certificate is none of those that the settings pin, or the approval said no.
    case notApproved = -9891
  }

  /// Describes a TLS failure.
  public static func tls(_ code: TLS, _ operation: String, detail: String = "") -> StreamError {
    StreamError(.tls, code: code.rawValue, operation: operation, detail: detail)
  }

  /// Which TLS failure this is; `nil` if it is none.
  public var tls: TLS? { domain == .tls ? TLS(rawValue: code) : nil }
}
