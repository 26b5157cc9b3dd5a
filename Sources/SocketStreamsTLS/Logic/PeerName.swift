// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Whom a client means to talk to, as its certificate and the server name indication need it.

#if TLS

internal import SocketStreams

/// The name or address that the peer's certificate has to be for.
struct PeerName: Hashable, Sendable {
  /// A name without a closing dot, or an address without a zone.
  let text: String
  /// Whether it is an address: compared with the certificate's addresses, and never sent.
  let isAddress: Bool

  /// - Returns: `nil` if `text` is neither an address nor a name that DNS could have. What OpenSSL would take for more than
  ///   one name is none either: a leading dot means all names below to it, and a zero ends the text. What ends with a number
  ///   is an address in a short or wrong form, which is no name to send.
  init?(_ text: String) {
    let address = Self.withoutZone(text)
    if !address.hasPrefix("["), SocketAddress(ip: address, port: 0) != nil {
      self.text = address
      isAddress = true
      return
    }
    let name = text.hasSuffix(".") ? text.dropLast() : text[...]
    guard name.utf8.count <= Self.longestName, Self.isName(name) else { return nil }
    self.text = String(name)
    isAddress = false
  }

  /// An IPv6 address without the brackets that it may stand in, and without its zone, which is this host's own business.
  /// (RFC 6874)
  private static func withoutZone(_ text: String) -> String {
    guard text.contains(":") else { return text }
    let bare = text.hasPrefix("[") && text.hasSuffix("]") ? text.dropFirst().dropLast() : text[...]
    return String(bare.prefix { $0 != "%" })
  }

  private static func isName(_ text: Substring) -> Bool {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    guard labels.allSatisfy({ 1...63 ~= $0.utf8.count && $0.utf8.allSatisfy(isNamePart) }) else {
      return false
    }
    return labels.last.map { !$0.utf8.allSatisfy { 0x30...0x39 ~= $0 } } ?? false
  }

  /// Letters, digits, and what names in use have besides.
  private static func isNamePart(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
    default: false
    }
  }

  private static let longestName = 253
}

#endif
