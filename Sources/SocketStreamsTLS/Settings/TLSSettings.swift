// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a connection's owner asks of TLS. How it is done is in OpenSSL/; nothing here sees a pointer.

#if TLS

/// How to secure a pair of streams: as a client or as a server, what the peer has to show, and what is shown to it.
///
/// What is not set is safe: TLS 1.2 or later, the system's roots, and for clients the name of the host. Settings are
/// a value; those of a connection no longer change once its handshake has begun. A server that uses equal settings
/// for all of its connections also lets clients resume their sessions.
///
/// Whatever contradicts itself or cannot be used is an error of the code `StreamError.TLS.badSettings`, whose
/// `StreamError.detail` says what, when the settings are put to use.
///
/// Corresponds to `kCFStreamPropertySSLSettings`.
public struct TLSSettings: Hashable, Sendable {
  /// Which side of the handshake this is. Corresponds to `kCFStreamSSLIsServer`.
  public enum Role: Hashable, Sendable {
    /// The side that speaks first and checks the other's certificate.
    case client
    /// The side that has a certificate.
    case server
  }

  /// What of the peer's certificate is checked.
  public enum Verification: Hashable, Sendable {
    /// Its chain up to a trusted root, its dates and purpose, and for clients the name or address of the peer.
    case full
    /// The same, whoever the certificate names: anybody with a certificate of a trusted root can be at the other end.
    case chainOnly
    /// Nothing at all: anybody can be at the other end, and read and change everything.
    case dangerouslyNone
  }

  /// Whether a server wants to see the client's certificate.
  public enum ClientCertificates: Hashable, Sendable {
    /// It does not ask.
    case notAsked
    /// It asks and goes on without one; one that is shown has to pass the check.
    case optional
    /// It ends the connection of whoever has none.
    case required
  }

  /// Which certificates are trusted to vouch for others.
  public struct Roots: Hashable, Sendable {
    let areSystems: Bool
    let own: [TLSCertificate]

    /// Those of the system, where OpenSSL looks for them; `SSL_CERT_FILE` and `SSL_CERT_DIR` in the environment
    /// change where that is. They are read once for many connections, so a change may be seen late.
    public static let system = Roots(areSystems: true, own: [])
    /// These, and nobody else. One that others vouch for (an intermediate, or a peer's own certificate) is trusted
    /// without them.
    public static func only(_ certificates: [TLSCertificate]) -> Roots {
      Roots(areSystems: false, own: certificates)
    }
    /// The system's, and these, as if they were the only ones: an intermediate, too, is trusted by itself.
    public static func systemAnd(_ certificates: [TLSCertificate]) -> Roots {
      Roots(areSystems: true, own: certificates)
    }
  }

  /// Which side this is.
  public let role: Role
  /// The name or the IP address that the server's certificate has to have; a name is also sent to the server (SNI).
  /// `nil`, the default, takes the host that the pair was made with. With ``Verification/full`` there has to be one
  /// of the two. Of no meaning for servers.
  ///
  /// Names are compared as RFC 6125 says: with the certificate's alternative names only, never its common name, and a
  /// wildcard stands for one whole label. Corresponds to `kCFStreamSSLPeerName`.
  public var peerName: String?
  /// What of the peer's certificate is checked; everything by default. A server checks no name.
  ///
  /// Corresponds to `kCFStreamSSLValidatesCertificateChain`.
  public var verification = Verification.full
  /// Whom to believe; the system by default. A server needs these only to check its clients, whom it tells the
  /// subjects of those given here; it should name its own, since the system's authorities give certificates to
  /// everybody.
  public var roots = Roots.system
  /// The SHA-256 hashes, 32 bytes each, of keys (``TLSCertificate/keyHash``), of which at least one has to be in the
  /// peer's chain: the chain as it was verified, or as it was shown if verification is off. Checked besides
  /// everything else. Empty, the default: any key will do. A server that pins keys has to require certificates.
  public var pinnedKeys: Set<[UInt8]> = []
  /// Asked after everything else was found good, before the first byte; what it refuses ends with
  /// `StreamError.TLS.notApproved`.
  public var approval: TLSApproval?
  /// This side's certificate and key. A server has to have one; a client shows it if the server asks.
  ///
  /// Corresponds to `kCFStreamSSLCertificates`.
  public var identity: TLSIdentity?
  /// Of a server: identities for other names. Which one is shown depends on the name that the client asks for (SNI):
  /// the first whose certificate has just that name, ``identity`` included and first; else the first with a wildcard
  /// for it; else ``identity``, as for clients that name nobody.
  public var otherIdentities: [TLSIdentity] = []
  /// Of a server: whether clients have to show a certificate; not by default.
  public var clientCertificates = ClientCertificates.notAsked
  /// The application protocols (ALPN) that this side speaks, most wanted first, of 1 to 255 bytes of UTF-8 each; none
  /// by default.
  ///
  /// A client offers them; a server that knows none of them goes on without, so look at
  /// ``TLSPeer/applicationProtocol``. A server takes the first of its own that the client offers; a client that
  /// offers only others is refused (`StreamError.TLS.noCommonProtocol`), one that offers none is not.
  public var applicationProtocols: [String] = []
  /// The lowest version; TLS 1.2 by default. TLS 1.0 and 1.1 need weak hashes, so asking for them also lowers
  /// OpenSSL's security level to 0, for short keys and old ciphers too.
  public var minimumVersion = TLSVersion.tls12
  /// The highest version; `nil`, the default, is the highest that OpenSSL knows.
  ///
  /// Both versions correspond to `kCFStreamSSLLevel`.
  public var maximumVersion: TLSVersion?
  /// The ciphers for TLS 1.2 and below as an OpenSSL cipher list, for instance `"ECDHE+AESGCM"`; `nil`, the default,
  /// is OpenSSL's own choice. A server's order decides, but for clients that want ChaCha20 first. Ciphers
  /// that encrypt nothing (`eNULL`) are never used, nor are, unless verification is off and no key pinned, those without
  /// certificates.
  public var ciphers: String?
  /// The cipher suites for TLS 1.3, as their names with colons between; `nil`, the default, is OpenSSL's own choice.
  public var cipherSuites: String?
  /// Whether a later connection may go on with the keys of an earlier one, which spares it half of the handshake; by
  /// default it may.
  public var resumesSessions = true
  /// A file to which the keys of each connection are appended, in the form that Wireshark reads; `nil`, the default,
  /// is none. It is made readable by its owner only. Whoever has it can read the connections: for debugging.
  public var keyLogFile: String?
  /// The longest time from being connected to the end of the handshake, more than 0; a minute by default. After it
  /// the pair fails with `ETIMEDOUT`. `nil`: no limit but that of connecting.
  public var handshakeTimeout: Duration? = .seconds(60)

  private init(_ role: Role) { self.role = role }

  /// Settings for the side that speaks first.
  /// - Parameter peerName: See ``peerName``; `nil` for the host that the pair was made with.
  public static func client(peerName: String? = nil) -> TLSSettings {
    var settings = TLSSettings(.client)
    settings.peerName = peerName
    return settings
  }

  /// Settings for the side that is connected to, which shows `identity`.
  public static func server(_ identity: TLSIdentity) -> TLSSettings {
    var settings = TLSSettings(.server)
    settings.identity = identity
    return settings
  }
}

#endif
