// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// CoreFoundation's properties of TLS, answered by the core's settings; without the trait TLS, refused.

import CoreFoundation
import SocketStreams

#if TLS

import SocketStreamsTLS

extension StreamAdapter {
  /// What the connection is secured with, or is going to be.
  final var securityLevel: SecurityLevel { stream.property(.tlsSettings)?.level ?? .none }

  /// What the peer has shown, leaf first; `nil` before the handshake is done.
  final var peerCertificates: CFTypeRef? {
    stream.property(.tlsPeer).map { $0.certificates.map(\.der.cfData).cfArray }
  }

  /// - Returns: Whether the connection is secured by that level, or is going to be. Of settings that are there already only the
  ///   level changes.
  final func setSecurityLevel(_ value: CFTypeRef?) -> Bool {
    guard let value else { return secure(with: nil) }
    guard let level = String(object: value).flatMap(SecurityLevel.init(name:)), !level.isBroken else {
      return false
    }
    if level == .none { return secure(with: nil) }
    var settings = stream.property(.tlsSettings) ?? TLSSettings(SSLSettings(), hasHost: hasHost)
    settings?.level = level
    return settings.map(secure(with:)) ?? false
  }

  /// - Returns: Whether the connection is secured with the settings of this dictionary, or is going to be.
  final func setSSLSettings(_ value: CFTypeRef?) -> Bool {
    guard let value else { return secure(with: nil) }
    guard let entries = [String: CFTypeRef](dictionary: value),
      let settings = SSLSettings(entries.mapValues(SSLSettings.Value.init(object:)))
    else { return false }
    if settings.level == .none { return secure(with: nil) }
    return TLSSettings(settings, hasHost: hasHost).map(secure(with:)) ?? false
  }

  private var hasHost: Bool { stream.property(.remoteHostName) != nil }

  /// - Returns: Whether it is so now, which it may have been before.
  private func secure(with settings: TLSSettings?) -> Bool {
    if stream.property(.tlsSettings) == settings { return true }
    guard stream.setProperty(.tlsSettings, to: settings) else { return false }
    // Bytes and room, of which the client may have been told, are there again only after the handshake.
    socket.dataIsOwedAgain()
    return true
  }
}

extension TLSSettings {
  /// What the settings of a dictionary are to the core.
  /// - Parameter hasHost: Whether the streams were made for a host.
  /// - Returns: `nil` if the certificates cannot be used.
  init?(_ settings: SSLSettings, hasHost: Bool) {
    var identity: TLSIdentity?
    if let parts = settings.identity {
      guard let made = try? TLSIdentity(certificates: parts.certificates, key: parts.key) else {
        return nil
      }
      identity = made
    }
    if settings.isServer {
      guard let identity else { return nil }
      self = .server(identity)
    } else {
      self = .client()
      self.identity = identity
    }
    if case .given(let name) = settings.peerName { peerName = name }
    switch settings.check(hasHost: hasHost) {
    case .chainAndName: verification = .full
    case .chain: verification = .chainOnly
    case .nothing: verification = .dangerouslyNone
    }
    level = settings.level
  }

  /// The settings as CoreFoundation's level.
  fileprivate var level: SecurityLevel {
    get { minimumVersion < .tls12 ? .tls1 : .negotiated }
    set { minimumVersion = newValue == .tls1 ? .tls10 : .tls12 }
  }
}

extension SSLSettings.Value {
  /// Reads an object. The files that it names are read, too.
  init(object: CFTypeRef) {
    if let text = String(object: object) {
      self = .text(text)
    } else if let truth = Bool(object: object) {
      self = .truth(truth)
    } else if let elements = [CFTypeRef](array: object) {
      let parts = elements.compactMap { [UInt8](data: $0) ?? [UInt8](fileAt: $0, limit: Self.largestFile) }
      self = parts.count == elements.count ? .parts(parts) : .other
    } else {
      // Foundation's null is another object, and equal.
      self = CFEqual(object, kCFNull) ? .null : .other
    }
  }

  /// Far more than a chain of certificates has.
  private static let largestFile = 1 << 20
}

#else

extension StreamAdapter {
  final var securityLevel: SecurityLevel { .none }
  final var peerCertificates: CFTypeRef? { nil }

  /// - Returns: Whether that level is "none", which is what a connection is without TLS: a promise of more would be a lie.
  final func setSecurityLevel(_ value: CFTypeRef?) -> Bool {
    value.map { String(object: $0).flatMap(SecurityLevel.init(name:)) == SecurityLevel.none } ?? true
  }

  /// - Returns: Whether there are none.
  final func setSSLSettings(_ value: CFTypeRef?) -> Bool { value == nil }
}

#endif
