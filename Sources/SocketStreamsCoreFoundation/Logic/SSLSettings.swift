// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a dictionary of kCFStreamPropertySSLSettings asks for, once its values are read out of CoreFoundation's objects.

/// The settings of a dictionary, of which every key and value is known. What cannot be done as it is asked for is refused
/// as a whole: less than that could be taken for more.
struct SSLSettings: Equatable {
  /// A value of the dictionary, as far as some key can have it.
  enum Value: Equatable {
    case text(String)
    case truth(Bool)
    /// `kCFNull`.
    case null
    /// The bytes of every element of an array, in order.
    case parts([[UInt8]])
    case other
  }

  /// Which name the peer's certificate has to be for.
  enum PeerName: Equatable {
    /// The host that the streams were made for, if there is one.
    case host
    case given(String)
    case unchecked
  }

  /// What is checked of the peer's certificate.
  enum Check: Equatable {
    case chainAndName
    case chain
    case nothing
  }

  private(set) var level = SecurityLevel.negotiated
  private(set) var peerName = PeerName.host
  private(set) var validatesChain = true
  private(set) var isServer = false
  private(set) var identity: IdentityParts?

  /// Those of an empty dictionary: all is as it is by default.
  init() {}

  /// Reads the dictionary's entries.
  /// - Returns: `nil` if one of them is not known, has a value that its key cannot have, or cannot be done.
  init?(_ entries: [String: Value]) {
    for (name, value) in entries {
      guard let key = Key(rawValue: name), take(key, value) else { return nil }
    }
    // A server without a certificate agrees with nobody.
    if isServer, identity == nil { return nil }
  }

  private mutating func take(_ key: Key, _ value: Value) -> Bool {
    switch (key, value) {
    case (.level, .text(let name)):
      guard let level = SecurityLevel(name: name), !level.isBroken else { return false }
      self.level = level
    case (.peerName, .text(let name)):
      if name.isEmpty { return false }
      peerName = .given(name)
    case (.peerName, .null): peerName = .unchecked
    case (.validatesChain, .truth(let isOn)): validatesChain = isOn
    case (.isServer, .truth(let isOn)): isServer = isOn
    case (.certificates, .parts(let parts)):
      guard let identity = IdentityParts(parts) else { return false }
      self.identity = identity
    // There is no checking a part of a chain: it holds, or it does not.
    case (.allowsExpiredCertificates, .truth(false)), (.allowsExpiredRoots, .truth(false)),
      (.allowsAnyRoot, .truth(false)):
      break
    default: return false
    }
    return true
  }

  /// What is checked of the peer's certificate, with or without a host that the streams were made for. Without its chain the
  /// name is not: anybody can make a certificate with any name in it.
  func check(hasHost: Bool) -> Check {
    if !validatesChain { return .nothing }
    return switch peerName {
    case .given: .chainAndName
    case .unchecked: .chain
    case .host: hasHost ? .chainAndName : .chain
    }
  }

  /// The keys, by their values.
  private enum Key: String {
    case level = "kCFStreamSSLLevel"
    case peerName = "kCFStreamSSLPeerName"
    case validatesChain = "kCFStreamSSLValidatesCertificateChain"
    case allowsExpiredCertificates = "kCFStreamSSLAllowsExpiredCertificates"
    case allowsExpiredRoots = "kCFStreamSSLAllowsExpiredRoots"
    case allowsAnyRoot = "kCFStreamSSLAllowsAnyRoot"
    case isServer = "kCFStreamSSLIsServer"
    case certificates = "kCFStreamSSLCertificates"
  }
}
