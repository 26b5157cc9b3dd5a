// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Settings that cannot be meant. What only OpenSSL can tell (lists of ciphers, keys too short) is found when a
// context is made of them.

#if TLS

internal import SocketStreams

extension TLSSettings {
  /// Looks for what contradicts itself.
  /// - Throws: `StreamError.TLS.badSettings` with a sentence.
  func check() throws(StreamError) {
    if let fault { throw .badSettings(fault) }
  }

  /// Whether certificates of the peer are wanted, and checked against roots.
  var checksChain: Bool {
    verification != .dangerouslyNone && (role == .client || clientCertificates != .notAsked)
  }

  private var fault: String? { versionFault ?? roleFault ?? trustFault ?? textFault ?? timeFault }

  private var timeFault: String? {
    guard let handshakeTimeout, handshakeTimeout <= .zero else { return nil }
    return "the limit of the handshake is not more than 0"
  }

  private var versionFault: String? {
    let known = TLSVersion.tls10...TLSVersion.tls13
    for version in [minimumVersion, maximumVersion ?? .tls13] where !known.contains(version) {
      return "there is no \(version)"
    }
    if let maximumVersion, maximumVersion < minimumVersion {
      return "the highest version, \(maximumVersion), is below the lowest, \(minimumVersion)"
    }
    return nil
  }

  private var roleFault: String? {
    switch role {
    case .server:
      if identity == nil { return "a server has no identity" }
      if !pinnedKeys.isEmpty && clientCertificates != .required {
        return "a server that pins keys does not require certificates"
      }
    case .client:
      if peerName == "" { return "the peer's name is empty" }
      if !otherIdentities.isEmpty { return "a client has identities to choose from" }
      if clientCertificates != .notAsked { return "a client asks for clients' certificates" }
    }
    return nil
  }

  private var trustFault: String? {
    if checksChain && !roots.areSystems && roots.own.isEmpty {
      return "certificates are to be verified without any root"
    }
    if pinnedKeys.contains(where: { $0.count != 32 }) { return "the hash of a pinned key has not 32 bytes" }
    return nil
  }

  private var textFault: String? {
    if ApplicationProtocols(applicationProtocols) == nil {
      return "the application protocols \(applicationProtocols) cannot be sent: each has 1 to 255 bytes"
    }
    if cipherSuites == "" { return "the list of cipher suites is empty" }
    let texts = [peerName, ciphers, cipherSuites, keyLogFile]
    if texts.contains(where: { $0?.utf8.contains(0) == true }) { return "a text has a zero byte in it" }
    return nil
  }
}

extension StreamError {
  static func badSettings(_ detail: String) -> StreamError {
    .tls(.badSettings, "TLS settings", detail: detail)
  }
}

#endif
