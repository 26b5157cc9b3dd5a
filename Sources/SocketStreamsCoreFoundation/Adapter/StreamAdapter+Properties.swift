// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// CoreFoundation's property keys, which Foundation spells the same, answered by the core's properties.

import CoreFoundation
import SocketStreams

/// The keys that a stream knows, by their values.
private enum PropertyKey: String {
  case nativeHandle = "kCFStreamPropertySocketNativeHandle"
  case shouldCloseNativeSocket = "kCFStreamPropertyShouldCloseNativeSocket"
  case remoteHostName = "kCFStreamPropertySocketRemoteHostName"
  case remotePortNumber = "kCFStreamPropertySocketRemotePortNumber"
  case securityLevel = "kCFStreamPropertySocketSecurityLevel"
  case sslSettings = "kCFStreamPropertySSLSettings"
  case sslPeerCertificates = "kCFStreamPropertySSLPeerCertificates"
  case sslPeerTrust = "kCFStreamPropertySSLPeerTrust"
  case socksProxy = "kCFStreamPropertySOCKSProxy"
  case networkServiceType = "kCFStreamNetworkServiceType"
  case backgroundIdleMode = "kCFStreamPropertySocketExtendedBackgroundIdleMode"
  case halfClose = "SocketStreamsHalfClose"
  case connectTimeout = "SocketStreamsConnectTimeout"
  case readTimeout = "SocketStreamsReadTimeout"
  case writeTimeout = "SocketStreamsWriteTimeout"
  case noDelay = "SocketStreamsNoDelay"
}

extension StreamAdapter {
  /// - Returns: The value, owned by the caller; `nil` for keys without one.
  final func copyProperty(_ name: CFString?) -> Unmanaged<CFTypeRef>? {
    guard let name, let key = PropertyKey(rawValue: String(name)), let value = property(key) else {
      return nil
    }
    return unsafe .passRetained(value)
  }

  private func property(_ key: PropertyKey) -> CFTypeRef? {
    switch key {
    case .nativeHandle: stream.property(.socketNativeHandle).map(Self.data(ofHandle:))
    case .shouldCloseNativeSocket: stream.property(.shouldCloseNativeSocket)?.cfBoolean
    case .remoteHostName: stream.property(.remoteHostName)?.cfString
    case .remotePortNumber: stream.property(.remotePortNumber).map { Int32($0).cfNumber }
    case .securityLevel: securityLevel.name.cfString
    case .sslPeerCertificates: peerCertificates
    case .halfClose: socket.closesHalf.cfBoolean
    case .connectTimeout: stream.property(.connectTimeout).map { $0.seconds.cfNumber }
    case .readTimeout: stream.property(.readTimeout).map { $0.seconds.cfNumber }
    case .writeTimeout: stream.property(.writeTimeout).map { $0.seconds.cfNumber }
    case .noDelay: stream.property(.noDelay)?.cfBoolean
    // There are no such objects without Apple's framework Security.
    case .sslPeerTrust: nil
    case .sslSettings, .socksProxy, .networkServiceType, .backgroundIdleMode: nil
    }
  }

  /// - Returns: Whether the key is known and the value was taken. A refusal breaks nothing.
  final func setProperty(_ name: CFString?, to value: CFTypeRef?) -> Bool {
    guard let name, let key = PropertyKey(rawValue: String(name)) else { return false }
    switch key {
    case .nativeHandle, .remoteHostName, .remotePortNumber, .sslPeerCertificates, .sslPeerTrust: return false
    case .shouldCloseNativeSocket: return set(.shouldCloseNativeSocket, value, Bool.init(object:))
    case .noDelay: return set(.noDelay, value, Bool.init(object:))
    case .connectTimeout: return set(.connectTimeout, value, Duration.init(object:))
    case .readTimeout: return set(.readTimeout, value, Duration.init(object:))
    case .writeTimeout: return set(.writeTimeout, value, Duration.init(object:))
    case .halfClose:
      guard let value else { return socket.setClosesHalf(nil) }
      return Bool(object: value).map(socket.setClosesHalf) ?? false
    case .securityLevel: return setSecurityLevel(value)
    case .sslSettings: return setSSLSettings(value)
    // Nothing can be sent through a proxy, so that nothing is all that can be asked for.
    case .socksProxy: return value == nil
    // Hints to a phone's radio.
    case .networkServiceType, .backgroundIdleMode: return true
    }
  }

  /// Sets a property of the core to what `read` makes of `value`, or to its default.
  private func set<Value>(
    _ key: StreamProperty<Value>, _ value: CFTypeRef?, _ read: (CFTypeRef) -> Value?
  ) -> Bool {
    guard let value else { return stream.setProperty(key, to: nil) }
    guard let value = read(value) else { return false }
    return stream.setProperty(key, to: value)
  }

  /// A `CFSocketNativeHandle` as bytes.
  private static func data(ofHandle handle: Int32) -> CFData {
    unsafe withUnsafeBytes(of: handle) { bytes in
      unsafe CFDataCreate(nil, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
    }
  }
}

extension Duration {
  fileprivate var seconds: Double { self / .seconds(1) }

  /// A `CFNumber` of seconds, more than 0.
  fileprivate init?(object: CFTypeRef) {
    guard let seconds = Double(object: object), seconds > 0, seconds <= 1e9 else { return nil }
    self = .seconds(seconds)
  }
}
