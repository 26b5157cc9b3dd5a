// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// kCFStreamSSLCertificates: on Apple's platforms an identity and certificates of the keychain's, here PEM or DER.

/// A certificate, those of its issuers, and its key, put together from the elements of the array.
struct IdentityParts: Equatable {
  /// PEM: the certificate, then its issuers; or PKCS #12.
  private(set) var certificates: [UInt8] = []
  /// PEM or DER; or the same PKCS #12.
  private(set) var key: [UInt8] = []

  /// Puts together the elements, each of which is PEM, with any number of certificates and at most one key in it, or a
  /// certificate or a key as DER; or takes the only one, if that is PKCS #12.
  /// - Returns: `nil` if one is nothing of the kind, or if there is no certificate, no key, or more than one key.
  init?(_ elements: [[UInt8]]) {
    for element in elements {
      guard let content = Content(of: element) else { return nil }
      if content.isStore {
        guard elements.count == 1 else { return nil }
        (certificates, key) = (element, element)
        return
      }
      if content.keyCount > 0 {
        guard key.isEmpty, content.keyCount == 1 else { return nil }
        key = element
      }
      if content.hasCertificates {
        certificates += content.isPEM ? element + Self.newLine : Self.pem(ofCertificate: element)
      }
    }
    if certificates.isEmpty || key.isEmpty { return nil }
  }

  /// What is in an element.
  private struct Content {
    var isPEM = false
    var hasCertificates = false
    var keyCount = 0
    /// PKCS #12.
    var isStore = false

    init?(of element: [UInt8]) {
      for line in String(decoding: element, as: UTF8.self).split(whereSeparator: \.isNewline)
      where line.hasPrefix("-----BEGIN ") {
        if line.hasSuffix("CERTIFICATE-----") { hasCertificates = true }
        if line.hasSuffix("PRIVATE KEY-----") { keyCount += 1 }
      }
      isPEM = hasCertificates || keyCount > 0
      if isPEM { return }
      // A sequence, which begins with another one in a certificate, and with a version in a key and in PKCS #12.
      guard element.count > 2, element[0] == 0x30 else { return nil }
      // A length of 128 or more has as many bytes as the low bits of the first say.
      let content = element.dropFirst(element[1] < 0x80 ? 2 : 2 + Int(element[1] & 0x7F))
      if content.first == 0x30 {
        hasCertificates = true
      } else if content.starts(with: [0x02, 1, 3]) {
        isStore = true
      } else if content.starts(with: [0x02, 1]) {
        keyCount = 1
      } else {
        return nil
      }
    }
  }

  private static func pem(ofCertificate der: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    for start in stride(from: 0, to: der.count, by: 48) {
      text += base64(der[start..<min(start + 48, der.count)]) + newLine
    }
    return Array("-----BEGIN CERTIFICATE-----\n".utf8) + text + Array("-----END CERTIFICATE-----\n".utf8)
  }

  private static func base64(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.endIndex)]
      let number = (0..<3).reduce(0) { $0 << 8 | Int($1 < group.count ? group[start + $1] : 0) }
      for place in 0..<4 {
        text.append(place <= group.count ? digits[number >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
      }
    }
    return text
  }

  private static var newLine: [UInt8] { [UInt8(ascii: "\n")] }
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}
