// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A host and a port, as people write them.

/// A host and a port, as people write them: `example.org:80`, `127.0.0.1:80`, `[::1]:80`.
public struct HostAndPort: Hashable, Sendable {
  /// A name or a numeric address, without brackets. Never empty.
  public let host: String
  /// From 1 to 65535.
  public let port: UInt16

  /// Reads `host:port`; an IPv6 address stands in brackets.
  ///
  /// Throws ``StreamError/Misuse/badAddress``, with what is wrong as the error's operation.
  public init(parsing text: String) throws(StreamError) {
    let (host, port) = try Self.split(text)
    guard !host.isEmpty else { throw Self.bad("\"\(Self.printable(text))\" has no host before the port") }
    guard host.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }) else {
      throw Self.bad("the host in \"\(Self.printable(text))\" has a space or a control character")
    }
    self.host = String(host)
    self.port = try Self.parsePort(port, in: text)
  }

  private static func split(_ text: String) throws(StreamError) -> (host: Substring, port: Substring) {
    guard !text.isEmpty else { throw bad("the text is empty, not host:port") }
    // Before anything else, since "http://h" would otherwise be a host "http" with a strange port. (A4)
    if text.contains("://") { throw bad("\"\(printable(text))\" is a URL, not host:port") }
    if text.contains("/") { throw bad("\"\(printable(text))\" has a path, and host:port has none") }
    if text.hasPrefix("[") { return try splitBracketed(text) }
    guard let colon = text.lastIndex(of: ":") else { throw bad("\"\(printable(text))\" has no port") }
    let host = text[..<colon]
    guard !host.contains(":") else {
      throw bad("\"\(printable(text))\" has several colons, and an IPv6 address stands in brackets")
    }
    return (host, text[text.index(after: colon)...])
  }

  private static func splitBracketed(_ text: String) throws(StreamError) -> (host: Substring, port: Substring)
  {
    guard let closing = text.firstIndex(of: "]") else {
      throw bad("\"\(printable(text))\" has no closing bracket")
    }
    let host = text[text.index(after: text.startIndex)..<closing]
    guard host.contains(":"), SocketAddress(ip: String(host), port: 0) != nil else {
      throw bad("\"\(printable(text))\" has no IPv6 address in its brackets")
    }
    let rest = text[text.index(after: closing)...]
    guard rest.hasPrefix(":") else { throw bad("\"\(printable(text))\" has no port after its brackets") }
    return (host, rest.dropFirst())
  }

  private static func parsePort(_ port: Substring, in text: String) throws(StreamError) -> UInt16 {
    guard !port.isEmpty else { throw bad("\"\(printable(text))\" has no port after the colon") }
    guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw bad("the port \"\(printable(port))\" is not a number")
    }
    // More digits than an integer holds are above the limit too. (S13)
    guard let number = UInt16(port) else { throw bad("the port \(port) is above 65535") }
    guard number > 0 else { throw bad("the port 0 cannot be connected to") }
    return number
  }

  private static func bad(_ sentence: String) -> StreamError { .misuse(.badAddress, sentence) }

  /// The text as it may stand in a message: without control characters that would act on a terminal.
  private static func printable(_ text: some StringProtocol) -> String {
    String(
      String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 }))
  }
}

extension HostAndPort: CustomStringConvertible {
  /// As ``init(parsing:)`` reads it.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
