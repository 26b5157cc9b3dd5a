// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a command connects to, and how: from its arguments to a pair of streams.

import SocketStreams

/// Where to connect to, and how.
struct Target: Sendable {
  /// The place itself.
  enum Place: Hashable, Sendable {
    case host(String, UInt16)
    case unix(SocketAddress)

    var description: String {
      switch self {
      case .host(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
      case .unix(let address): address.description
      }
    }
  }

  let place: Place
  let options: ConnectionOptions
  let timeout: Duration
  /// What secures connections; `nil` for connections in plain.
  let security: Security?

  /// What the common options and the operands of `send` and `receive` say.
  /// - Throws: `UsageError`, or ``Unusable`` for a certificate's file.
  init(_ arguments: ParsedArguments) throws {
    let path = arguments[CommonOptions.unix]
    guard let host = arguments[CommonOptions.host], let port = arguments[CommonOptions.port] else {
      try self.init(unixPath: path ?? "", arguments)
      return
    }
    try self.init(.host(Self.withoutBrackets(host), port), arguments)
  }

  /// What the common options and the operand of `cfread` say.
  init(endpoint: HostAndPort?, _ arguments: ParsedArguments) throws {
    guard let endpoint else {
      try self.init(unixPath: arguments[CommonOptions.unix] ?? "", arguments)
      return
    }
    try self.init(.host(endpoint.host, endpoint.port), arguments)
  }

  private init(unixPath path: String, _ arguments: ParsedArguments) throws {
    let address: SocketAddress
    do {
      address = try SocketAddress(unixPath: path)
    } catch {
      throw UsageError("The path '\(path)' cannot be a socket's: \(error.reason)")
    }
    try self.init(.unix(address), arguments)
  }

  private init(_ place: Place, _ arguments: ParsedArguments) throws {
    self.place = place
    timeout = arguments[CommonOptions.timeout]
    var options = ConnectionOptions()
    options.transport = arguments[CommonOptions.transport].transport
    options.connectTimeout = timeout
    let mappings = arguments.all(CommonOptions.resolve)
    if !mappings.isEmpty { options.resolver = try Self.resolver(mappings) }
    self.options = options
    security = try Security.client(arguments, timeout: timeout, to: place.description)
  }

  /// The two streams, not yet opened; secured, unless something is said in plain before.
  func makePair() throws(StreamError) -> StreamPair {
    let pair =
      switch place {
      case .host(let host, let port): StreamPair(host: host, port: port, options: options)
      case .unix(let address): StreamPair(address: address, options: options)
      }
    if let security, security.dialogue == nil { try security.secure(pair) }
    return pair
  }

  var isUnix: Bool { if case .unix = place { true } else { false } }

  /// The place as messages show it: `127.0.0.1:80`, `[::1]:80`, `unix:/run/x`.
  var description: String { place.description }

  /// What is told before a connection is made; `nil` for nothing.
  var warning: String? { security?.request.warning }

  /// A resolver that knows the names of `--resolve`, and asks the system for others.
  private static func resolver(_ mappings: [HostMapping]) throws(UsageError) -> StaticResolver {
    for address in mappings.flatMap(\.addresses) where SocketAddress(ip: address, port: 1) == nil {
      throw UsageError("'\(address)' in --resolve is not an address")
    }
    let table = Dictionary(mappings.map { ($0.name, $0.addresses) }) { $0 + $1 }
    return StaticResolver(table, fallback: SystemResolver.shared)
  }

  private static func withoutBrackets(_ host: String) -> String {
    host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
  }
}

extension TransportChoice {
  /// The library's word for it.
  var transport: ConnectionOptions.Transport { self == .direct ? .direct : .bufferevent }
}
