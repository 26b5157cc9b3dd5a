// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a socket is, as plain data. Parsing and printing are in Sockets/, where the C library that does them is.

/// Where a socket is: an IPv4 or IPv6 address with a port, or a Unix-domain path.
///
/// Corresponds to the `sockaddr` in a `CFSocketSignature`.
public struct SocketAddress: Hashable, Sendable {
  package enum Storage: Hashable, Sendable {
    /// The four bytes in the order in which they are written.
    case ipv4(UInt32, port: UInt16)
    /// The sixteen bytes as two big-endian halves, and the scope id of a link-local address (0 for none).
    case ipv6(high: UInt64, low: UInt64, port: UInt16, scope: UInt32)
    /// A path in the file system, as bytes without the closing zero; empty for an unnamed socket.
    case unix([UInt8])
  }

  package let storage: Storage

  package init(_ storage: Storage) { self.storage = storage }
}
