// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Accepting connections on one base: what a listener is to its owner. The accepting itself is in ListeningSocket.swift.

/// Accepts connections and hands each over as a pair of streams.
///
/// Any thread may call any function. A listener that is dropped is closed.
public final class Listener: Sendable {
  private let socket: ListeningSocket

  /// Where the listener is, with the port that the kernel chose if it was asked for port 0.
  public let localAddress: SocketAddress

  /// Starts listening. Connections wait in the kernel until the listener is scheduled.
  ///
  /// A TCP address is bound with `SO_REUSEADDR`, so that a restart succeeds at once, and accepted connections have
  /// `TCP_NODELAY`; the property `noDelay` changes it. At a Unix path, a socket that
  /// nobody listens on any more is removed first; anything else that is there stays, and the call fails with
  /// `EADDRINUSE`. The path is removed again by ``close()``.
  /// - Parameters:
  ///   - address: An address of this machine, the wildcard address for all of them, or a Unix path.
  ///   - backlog: How many connections may wait to be accepted, 1 or more.
  ///   - reusesPort: Whether other listeners may have the same address and port at the same time (`SO_REUSEPORT`). All
  ///     of them have to say so, in whatever processes, and run under one user. The kernel gives each connection to one
  ///     of them, chosen by the addresses and ports of both ends: evenly over many connections, not in turn. One that is
  ///     not scheduled gets its share too, which waits; what waits at one that closes is refused, not passed on. With
  ///     port 0 the first has the port chosen, and the others are given its ``localAddress``.
  /// - Throws: `EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL` and their like; ``StreamError/Misuse/unsupported`` for a Unix path
  ///   with `reusesPort`.
  public init(
    address: SocketAddress, backlog: Int32 = 128, reusesPort: Bool = false
  ) throws(StreamError) {
    socket = try ListeningSocket(address, backlog: backlog, reusesPort: reusesPort)
    localAddress = socket.address
  }

  deinit { socket.close() }

  /// Accepts on `base`, calling `accept` on its thread for each connection with its streams, not yet opened, and the
  /// peer's address. A pair that `accept` neither keeps, nor schedules and opens, is closed.
  ///
  /// Scheduling again, on this or another base, replaces the handler. When descriptors run out, accepting pauses for a
  /// tenth of a second, and the connections wait.
  public func schedule(
    on base: EventBase, accept: sending @escaping (_ streams: StreamPair, _ peer: SocketAddress) -> Void
  ) {
    socket.schedule(on: base, accept)
  }

  /// Stops accepting, and leaves connections waiting in the kernel until the listener is scheduled again.
  ///
  /// On the base's own thread nothing is accepted afterwards; from another thread one call may be under way.
  public func unschedule() { socket.unschedule() }

  /// Stops listening: connections that wait are refused, the port is free, a Unix path is removed. From a thread other
  /// than the base's the descriptor closes soon.
  public func close() { socket.close() }
}
