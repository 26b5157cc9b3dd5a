// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What both sides of a secured connection agreed upon, in words.

#if TLS

import SocketStreamsTLS

extension TLSPeer {
  /// `TLS 1.3, TLS_AES_256_GCM_SHA384, ALPN h2, for localhost, key SHA-256 47de…`: the hash is the one that the library
  /// pins.
  var line: String {
    var parts = ["\(version)", cipher]
    if let applicationProtocol { parts.append("ALPN \(applicationProtocol)") }
    if let serverName { parts.append("for \(serverName)") }
    if isResumed { parts.append("resumed") }
    parts.append(
      certificates.first.map { "key SHA-256 \(Self.hexadecimal($0.keyHash))" } ?? "no certificate")
    return PlainText.shown(parts.joined(separator: ", "))
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

#endif
