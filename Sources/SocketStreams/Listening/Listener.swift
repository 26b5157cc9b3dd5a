// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Accepting connections on one base: what a listener is to its owner. The accepting itself is in ListeningSocket.swift,
// the connections that it made in OpenConnections.swift.

/// Accepts connections and hands each over as a pair of streams.
///
/// Any thread may call any function, also while a connection is being handed over, and none waits for that. A listener
/// that is dropped is closed; its connections stay.
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
  ///   - backlog: How many connections may wait to be accepted, 1 or more; the system has a limit of its own.
  ///   - reusesPort: Whether other listeners may have the same address and port at the same time (`SO_REUSEPORT`). All
  ///     of them have to say so, in whatever processes, and run under one user. The kernel gives each connection to one
  ///     of them, chosen by the addresses and ports of both ends: evenly over many connections, not in turn. One that is
  ///     not scheduled gets its share too, which waits; what waits at one that closes is refused, not passed on. With
  ///     port 0 the first has the port chosen, and the others are given its ``localAddress``.
  ///   - acceptsIPv4: Whether the IPv6 wildcard address `::` takes IPv4 connections too. If not, `0.0.0.0` may have a
  ///     listener of its own on the same port. Of no effect on other addresses; the system's setting (`bindv6only`)
  ///     does not count. The addresses of IPv4 connections are IPv4 ones, for example `127.0.0.1`, everywhere.
  ///   - limits: How many connections may be open at the same time.
  /// - Throws: `EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL` and their like; ``StreamError/Misuse/unsupported`` for a Unix path
  ///   with `reusesPort`.
  public init(
    address: SocketAddress, backlog: Int32 = 128, reusesPort: Bool = false, acceptsIPv4: Bool = false,
    limits: ConnectionLimits = ConnectionLimits()
  ) throws(StreamError) {
    let made = try UnixPath.listen(
      on: address, backlog: backlog, reusesPort: reusesPort, acceptsIPv4: acceptsIPv4)
    socket = try ListeningSocket(made, path: UnixPath(address), limits: limits)
    localAddress = socket.address
  }

  /// Takes over a socket that listens already, such as one that a service manager passed to this process or that an
  /// earlier program left to it over `exec`.
  ///
  /// It is made closed on exec, and non-blocking, which whoever else has the same socket shares. A Unix path is not
  /// removed by ``close()``: it belongs to who made it. Connections are as with any listener, those that wait already
  /// included.
  /// - Parameters:
  ///   - socket: A stream socket over IPv4, IPv6 or a Unix path. It is closed if it is not taken.
  ///   - limits: How many connections may be open at the same time.
  /// - Throws: `EBADF` for what is not open, `ENOTSOCK` for what is no socket, `EPROTOTYPE` for one that is no stream,
  ///   `EINVAL` for one that does not listen, `EAFNOSUPPORT` for one of another family.
  public init(
    adopting socket: consuming NativeSocket, limits: ConnectionLimits = ConnectionLimits()
  ) throws(StreamError) {
    try SystemCalls.prepareListener(socket.rawValue)
    self.socket = try ListeningSocket(socket, isAdopted: true, limits: limits)
    localAddress = self.socket.address
  }

  deinit { socket.close() }

  // MARK: - Accepting

  /// Accepts on `base`, calling `accept` on its thread for each connection with its streams, not yet opened, and the
  /// peer's address. A pair that `accept` neither keeps, nor schedules and opens, is closed; one that it schedules and
  /// opens is kept by the base until its terminal event.
  ///
  /// The pair may be scheduled on any base. To have everything about a connection on another base's thread, hand it
  /// over there: `other.execute { serve(pair, peer) }`.
  ///
  /// Scheduling again, on this or another base, replaces the handlers. When descriptors run out, connections wait: until
  /// one of this listener's ends, or a tenth of a second before the next try.
  /// - Parameters:
  ///   - base: Where to accept.
  ///   - accept: Called for each connection.
  ///   - onRefusal: Called, on the same thread, for each connection that was closed at once, as its peer had
  ///     ``ConnectionLimits/perPeer`` connections already.
  public func schedule(
    on base: EventBase, accept: sending @escaping (_ streams: StreamPair, _ peer: SocketAddress) -> Void,
    onRefusal: sending @escaping (_ peer: SocketAddress) -> Void = { _ in }
  ) {
    socket.schedule(on: base, ListeningSocket.Handler(accept: accept, refuse: onRefusal))
  }

  /// Stops accepting and lets go of the base and the handlers. Connections wait in the kernel until the listener is
  /// scheduled again.
  ///
  /// On the base's own thread nothing is accepted afterwards; from another thread one call may be under way.
  public func unschedule() { socket.unschedule() }

  /// Stops accepting for a while, keeping the base and the handlers: connections wait in the kernel until
  /// ``resume()``, as many as the backlog. A listener that is scheduled meanwhile stays paused. Pausing twice is pausing
  /// once.
  ///
  /// On the base's own thread nothing is accepted afterwards; from another thread one call may be under way.
  public func pause() { socket.isPaused = true }

  /// Goes on accepting, those that waited first. Does nothing if the listener is not paused.
  public func resume() { socket.isPaused = false }

  /// Whether ``pause()`` was called, and not ``resume()`` since. Not whether a limit makes connections wait.
  public var isPaused: Bool { socket.isPaused }

  /// How many of the connections that this listener accepted are open, as ``ConnectionLimits`` counts them.
  public var connectionCount: Int { socket.connections.count }

  // MARK: - The end

  /// Stops listening: connections that wait are refused, the port is free, a Unix path is removed. From a thread other
  /// than the base's the descriptor closes soon. What was accepted is left alone.
  public func close() { socket.close() }

  /// Stops listening as ``close()`` does, and waits, without blocking, for the connections that are open to end by
  /// themselves; those that are left after `limit` are cut as by ``SocketStream/abort()``. The connections are not told:
  /// it is their owner who says goodbye.
  ///
  /// Called again, also after ``close()``, each `completion` is called, and the earliest limit counts. The listener need
  /// not be kept. What an ended connection had accepted is with the kernel by then.
  /// - Parameters:
  ///   - limit: How long to wait for connections to end; zero cuts all of them.
  ///   - completion: Called once, never before this returns, with the number of connections that were cut, 0 if all
  ///     ended by themselves: on the thread of the base on which the listener is scheduled, or on one of the library's own
  ///     if it is on none or that base ends. Of those that were cut, streams on other bases may be closing at that moment.
  public func drain(within limit: Duration, completion: sending @escaping (_ cut: Int) -> Void) {
    socket.drain(within: limit, completion)
  }
}
