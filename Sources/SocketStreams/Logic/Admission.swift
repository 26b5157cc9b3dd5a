// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Which connections a listener has open, and whether it takes another. Knows neither sockets nor streams: a connection is
// whatever number its owner has for it.

/// The open connections of one listener, held to its limits.
package struct Admission<ID: Hashable> {
  package let limits: ConnectionLimits
  private var open: Set<ID> = []
  /// Only with a limit for each peer: where each connection is from, and how many are from there.
  private var hosts: [ID: SocketAddress] = [:]
  private var counts: [SocketAddress: Int] = [:]

  package init(_ limits: ConnectionLimits) { self.limits = limits }

  /// How many connections are open.
  package var count: Int { open.count }

  /// Whether there is room for one more, whoever it is from.
  package var hasRoom: Bool { limits.total.map { count < $0 } ?? true }

  /// Whether a connection from `peer` is taken, and not closed at once.
  package func admits(_ peer: SocketAddress) -> Bool {
    guard let limit = limits.perPeer, let host = peer.host else { return true }
    return counts[host, default: 0] < limit
  }

  /// A connection was accepted.
  package mutating func accepted(_ id: ID, from peer: SocketAddress) {
    open.insert(id)
    guard limits.perPeer != nil, let host = peer.host else { return }
    hosts[id] = host
    counts[host, default: 0] += 1
  }

  /// A connection is over. Nothing happens if it is not known (any more).
  package mutating func ended(_ id: ID) {
    open.remove(id)
    guard limits.perPeer != nil, let host = hosts.removeValue(forKey: id) else { return }
    let count = counts[host, default: 1] - 1
    // Peers that have gone leave nothing behind, however many there were.
    counts[host] = count > 0 ? count : nil
  }

  /// All connections are cut.
  /// - Returns: Those that were open, of which none is any more.
  package mutating func cut() -> Set<ID> {
    defer { self = Admission(limits) }
    return open
  }
}

extension SocketAddress {
  /// The address without its port; `nil` for a Unix path.
  fileprivate var host: SocketAddress? {
    switch storage {
    case .ipv4(let address, _): SocketAddress(.ipv4(address, port: 0))
    case .ipv6(let high, let low, _, let scope):
      SocketAddress(.ipv6(high: high, low: low, port: 0, scope: scope))
    case .unix: nil
    }
  }
}
