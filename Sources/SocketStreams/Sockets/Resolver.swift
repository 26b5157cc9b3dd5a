// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What turns names into addresses: the protocol that streams ask through, and a table for tests and overrides.

/// Which kinds of addresses a name is resolved to, and which are tried first.
public enum AddressFamily: Hashable, Sendable {
  /// All, in the resolver's own order.
  case any
  /// IPv4 only.
  case ipv4
  /// IPv6 only.
  case ipv6
  /// All, IPv4 first.
  case preferIPv4
  /// All, IPv6 first.
  case preferIPv6
}

/// Turns a host's name into addresses. Streams ask through this, so that a program can bring its own.
public protocol Resolver: Sendable {
  /// Starts looking up `host`, which is a name or a numeric address, and returns at once.
  ///
  /// - Parameters:
  ///   - host: Not empty; brackets around an IPv6 address are taken away before.
  ///   - port: Becomes the port of every address.
  ///   - family: Which kinds of addresses are wanted.
  ///   - completion: Called once, on any thread, but never before this function has returned. The addresses are in the
  ///     order in which they are to be tried. A failure is in the domain ``StreamError/Domain/resolver`` with a
  ///     `getaddrinfo` code, and an empty list counts as `EAI_NODATA`.
  func resolve(
    _ host: String, port: UInt16, family: AddressFamily,
    completion: @escaping @Sendable (_ addresses: Result<[SocketAddress], StreamError>) -> Void
  ) -> any ResolverRequest
}

/// A look-up under way.
public protocol ResolverRequest: Sendable {
  /// Gives up. The completion is not called once this has returned, though a call that had begun before may still run.
  func cancel()
}

/// Answers from a table. For tests, and for a command line's `--resolve`.
public struct StaticResolver: Resolver {
  private let table: [String: [String]]
  private let fallback: (any Resolver)?

  /// Answers names from a table. Numeric hosts are answered by themselves.
  /// - Parameters:
  ///   - table: For each name, in any letter case, its numeric addresses in the order in which they are to be tried.
  ///   - fallback: Asked for names that are not in the table; without one they do not exist (`EAI_NONAME`).
  public init(_ table: [String: [String]], fallback: (any Resolver)? = nil) {
    self.table = Dictionary(
      table.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
    self.fallback = fallback
  }

  /// See ``Resolver/resolve(_:port:family:completion:)``.
  public func resolve(
    _ host: String, port: UInt16, family: AddressFamily,
    completion: @escaping @Sendable (_ addresses: Result<[SocketAddress], StreamError>) -> Void
  ) -> any ResolverRequest {
    let found = table[host.lowercased()] ?? (SocketAddress(ip: host, port: 0) == nil ? nil : [host])
    if found == nil, let fallback {
      return fallback.resolve(host, port: port, family: family, completion: completion)
    }
    let request = PendingAnswer(completion)
    let answer: Result<[SocketAddress], StreamError>
    if let found {
      answer = family.select(found.compactMap { SocketAddress(ip: $0, port: port) }, host: host)
    } else {
      answer = .failure(.unresolved(.noName, host))
    }
    request.post(answer)
    return request
  }
}

extension AddressFamily {
  /// Keeps the addresses that are wanted, the preferred family first, otherwise in their order.
  func select(_ addresses: [SocketAddress], host: String) -> Result<[SocketAddress], StreamError> {
    let wanted = addresses.filter {
      $0.family == .ipv4 && self != .ipv6 || $0.family == .ipv6 && self != .ipv4
    }
    guard !wanted.isEmpty else { return .failure(.unresolved(.noData, host)) }
    switch self {
    case .any, .ipv4, .ipv6: return .success(wanted)
    case .preferIPv4:
      return .success(wanted.filter { $0.family == .ipv4 } + wanted.filter { $0.family == .ipv6 })
    case .preferIPv6:
      return .success(wanted.filter { $0.family == .ipv6 } + wanted.filter { $0.family == .ipv4 })
    }
  }
}
