// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Socket addresses from text and as text.

internal import Glibc

extension SocketAddress {
  /// What kind of address it is.
  public enum Family: Sendable {
    /// An IPv4 address and a port.
    case ipv4
    /// An IPv6 address, a port, and the scope of a link-local address.
    case ipv6
    /// A name in the file system, for sockets within one machine.
    case unix
  }

  /// Reads a numeric address: IPv4 as four decimal numbers, or IPv6, with or without brackets around it.
  ///
  /// An IPv6 address may end in `%` and its scope: the number or the name of a network interface. No host names are
  /// looked up.
  /// - Returns: `nil` if `ip` is not such an address, or names an interface that does not exist.
  public init?(ip: String, port: UInt16) {
    // The functions of C stop at a zero and would take what stands before it.
    guard !ip.utf8.contains(0) else { return nil }
    if let address = Self.parseIPv4(ip) {
      self.init(.ipv4(address, port: port))
      return
    }
    var text = Substring(ip)
    if text.hasPrefix("["), text.hasSuffix("]"), text.utf8.count > 2 { text = text.dropFirst().dropLast() }
    let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    guard let (high, low) = Self.parseIPv6(String(parts[0])) else { return nil }
    var scope: UInt32 = 0
    if parts.count == 2 {
      guard let number = Self.parseScope(String(parts[1])) else { return nil }
      scope = number
    }
    self.init(.ipv6(high: high, low: low, port: port, scope: scope))
  }

  /// Names a socket in the file system, by a path of 1 to 107 bytes.
  ///
  /// Throws, in the POSIX domain, `EINVAL` for an empty path or one with a zero byte in it, `ENAMETOOLONG` for a longer
  /// one.
  public init(unixPath path: String) throws(StreamError) {
    let bytes = Array(path.utf8)
    guard !bytes.isEmpty, !bytes.contains(0) else { throw .posix(EINVAL, "unix path") }
    guard bytes.count <= Self.longestPath else { throw .posix(ENAMETOOLONG, "unix path") }
    self.init(.unix(bytes))
  }

  /// What kind of address it is.
  public var family: Family {
    switch storage {
    case .ipv4: .ipv4
    case .ipv6: .ipv6
    case .unix: .unix
    }
  }

  /// Whether it names a socket within this machine.
  public var isUnix: Bool { family == .unix }

  /// The numeric IP address, without brackets and with its scope's number: `127.0.0.1`, `::1`, `fe80::1%2`.
  public var ip: String? {
    switch storage {
    case .ipv4(let address, _):
      return Self.print(AF_INET, in_addr(s_addr: address.bigEndian))
    case .ipv6(let high, let low, _, let scope):
      return Self.print(AF_INET6, in6_addr(high: high, low: low)).map { scope == 0 ? $0 : "\($0)%\(scope)" }
    case .unix:
      return nil
    }
  }

  /// The port of an IP address.
  public var port: UInt16? {
    switch storage {
    case .ipv4(_, let port), .ipv6(_, _, let port, _): port
    case .unix: nil
    }
  }

  /// The path of a Unix-domain socket; `nil` for one without a name in the file system.
  public var unixPath: String? {
    guard case .unix(let path) = storage, let first = path.first, first != 0 else { return nil }
    return String(decoding: path, as: UTF8.self)
  }

  /// The same address with another port; a Unix-domain address has none and stays as it is.
  func withPort(_ port: UInt16) -> SocketAddress {
    switch storage {
    case .ipv4(let address, _): SocketAddress(.ipv4(address, port: port))
    case .ipv6(let high, let low, _, let scope):
      SocketAddress(.ipv6(high: high, low: low, port: port, scope: scope))
    case .unix: self
    }
  }

  // MARK: - Parts

  /// The structure has 108 bytes, of which a zero closes the path.
  private static var longestPath: Int { 107 }

  private static func parseIPv4(_ text: String) -> UInt32? {
    var native = in_addr()
    guard unsafe inet_pton(AF_INET, text, &native) == 1 else { return nil }
    return UInt32(bigEndian: native.s_addr)
  }

  private static func parseIPv6(_ text: String) -> (high: UInt64, low: UInt64)? {
    var native = in6_addr()
    guard unsafe inet_pton(AF_INET6, text, &native) == 1 else { return nil }
    return native.halves
  }

  private static func parseScope(_ text: String) -> UInt32? {
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return UInt32(text) }
    let index = unsafe if_nametoindex(text)
    return index == 0 ? nil : index
  }

  /// - Parameter native: An `in_addr` or `in6_addr`, as `family` says.
  private static func print<T>(_ family: Int32, _ native: T) -> String? {
    // The room is INET6_ADDRSTRLEN, which is enough for any address, and the text in it ends with a zero.
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { room in
      unsafe withUnsafePointer(to: native) { native in
        unsafe inet_ntop(family, native, room.baseAddress.unsafelyUnwrapped, socklen_t(room.count)).map {
          unsafe String(cString: $0)
        }
      }
    }
  }
}

extension SocketAddress: CustomStringConvertible {
  /// `127.0.0.1:80`, `[::1]:80`, `[fe80::1%2]:80`, `unix:/tmp/x`.
  public var description: String {
    switch storage {
    case .ipv4(_, let port): return "\(ip ?? "?"):\(port)"
    case .ipv6(_, _, let port, _): return "[\(ip ?? "?")]:\(port)"
    case .unix(let name):
      guard name.first == 0 else { return "unix:" + String(decoding: name, as: UTF8.self) }
      // An abstract name, written as the tools do, with @ for its zero.
      return "unix:@" + String(decoding: name.dropFirst(), as: UTF8.self)
    }
  }
}
