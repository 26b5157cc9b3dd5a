// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

/// What both sides of a secured connection agreed upon, and who the other side says it is.
///
/// Corresponds to `kCFStreamPropertySSLPeerCertificates`.
public struct TLSPeer: Hashable, Sendable {
  /// The version of TLS.
  public let version: TLSVersion
  /// The cipher or cipher suite by its standard name, for instance `"TLS_AES_256_GCM_SHA384"`.
  public let cipher: String
  /// The application protocol (ALPN); `nil` if none was agreed upon.
  public let applicationProtocol: String?
  /// The certificates that the peer showed, its own first; empty if it showed none. Whether they were checked is up to
  /// ``TLSSettings/verification``.
  public let certificates: [TLSCertificate]
  /// The server's name that the client asked for (SNI); `nil` if it named none, as for addresses.
  public let serverName: String?
  /// Whether the connection goes on with the keys of an earlier one. The certificates are those of that one then, and
  /// were checked by it.
  public let isResumed: Bool

  package init(
    version: TLSVersion, cipher: String, applicationProtocol: String?, certificates: [TLSCertificate],
    serverName: String?, isResumed: Bool
  ) {
    self.version = version
    self.cipher = cipher
    self.applicationProtocol = applicationProtocol
    self.certificates = certificates
    self.serverName = serverName
    self.isResumed = isResumed
  }
}

#endif
