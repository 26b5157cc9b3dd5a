// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Names as the rest of the system resolves them: the C library's getaddrinfo, on threads of its own. (B1, B3)

internal import Glibc

/// Resolves names as the rest of the system does: with the C library's `getaddrinfo`, so by the hosts file, DNS, and
/// whatever else the system is set up with.
///
/// `getaddrinfo` blocks, so it runs on at most 8 threads of its own, which end after 30 seconds without work. Look-ups
/// beyond these wait for their turn; those for the same name share one. IPv4 and IPv6 addresses come together.
/// Numeric addresses need no thread.
///
/// Corresponds to `CFHost`.
public final class SystemResolver: Resolver {
  /// The one that streams use unless told otherwise.
  public static let shared = SystemResolver()

  let pool: ResolverPool

  /// For tests: `lookup` takes the place of `getaddrinfo`.
  init(
    maximumThreads: Int = 8, idleLimit: Duration = .seconds(30),
    lookup: @escaping ResolverPool.Lookup = SystemResolver.lookUp
  ) {
    pool = ResolverPool(maximumThreads: maximumThreads, idleLimit: idleLimit, lookup: lookup)
  }

  deinit { pool.close() }

  /// See ``Resolver/resolve(_:port:family:completion:)``.
  public func resolve(
    _ host: String, port: UInt16, family: AddressFamily,
    completion: @escaping @Sendable (_ addresses: Result<[SocketAddress], StreamError>) -> Void
  ) -> any ResolverRequest {
    if let address = SocketAddress(ip: host, port: port) {
      let answer = PendingAnswer(completion)
      answer.post(family.select([address], host: host))
      return answer
    }
    // C would take an empty name for this machine, and stop at a zero.
    guard !host.isEmpty, !host.utf8.contains(0) else {
      let answer = PendingAnswer(completion)
      answer.post(.failure(.unresolved(.noName, host.isEmpty ? "an empty name" : "a name with a zero byte")))
      return answer
    }
    return pool.resolve(host, port: port, family: family, completion: completion)
  }

  /// Asks the C library and waits. Addresses that come twice are kept once.
  static func lookUp(_ host: String, _ family: AddressFamily) -> Result<[SocketAddress], StreamError> {
    var hints = unsafe addrinfo()
    // Not AI_ADDRCONFIG: it hides loopback addresses on a machine without others. (B3)
    unsafe hints.ai_socktype = SystemCalls.Flag.stream
    unsafe hints.ai_family = family == .ipv4 ? AF_INET : family == .ipv6 ? AF_INET6 : AF_UNSPEC
    var list: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(host, nil, &hints, &list)
    let systemCode = SystemCalls.lastError
    guard code == 0 else {
      // The resolver then failed for a reason outside of itself, such as too many open files.
      if code == EAI_SYSTEM, systemCode != 0 { return .failure(.posix(systemCode, "resolve \(host)")) }
      return .failure(.unresolved(code, host))
    }
    defer { unsafe freeaddrinfo(list) }

    var addresses: [SocketAddress] = []
    var seen: Set<SocketAddress> = []
    var next = unsafe list
    while let entry = unsafe next {
      if let native = unsafe entry.pointee.ai_addr,
        let address = unsafe SocketAddress(
          native: UnsafeRawPointer(native), length: Int(entry.pointee.ai_addrlen)),
        seen.insert(address).inserted
      {
        addresses.append(address)
      }
      unsafe next = unsafe entry.pointee.ai_next
    }
    return addresses.isEmpty ? .failure(.unresolved(.noData, host)) : .success(addresses)
  }
}
