// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// System calls that make sockets and connect them. Every descriptor is born non-blocking and close-on-exec, in the
// call that makes it. (I7)

internal import Glibc

extension SystemCalls {
  /// Makes a stream socket of the family of `address`.
  static func makeSocket(family: SocketAddress.Family) throws(StreamError) -> NativeSocket {
    let fd = socket(family.nativeValue, Flag.newStream, 0)
    guard fd >= 0 else { throw .posix(lastError, "socket") }
    return NativeSocket(owning: fd)
  }

  /// Two connected sockets. A tuple cannot hold what is not copyable.
  struct SocketPair: ~Copyable {
    let first: NativeSocket
    let second: NativeSocket

    /// Gives both away unclosed.
    consuming func release() -> (first: Int32, second: Int32) { (first.release(), second.release()) }
  }

  /// Makes two connected sockets.
  static func socketPair() throws(StreamError) -> SocketPair {
    var fds: (Int32, Int32) = (-1, -1)
    // A tuple of two integers is laid out like C's int[2].
    let outcome = unsafe withUnsafeMutablePointer(to: &fds) { pair in
      unsafe pair.withMemoryRebound(to: Int32.self, capacity: 2) {
        unsafe socketpair(AF_UNIX, Flag.newStream, 0, $0)
      }
    }
    guard outcome == 0 else { throw .posix(lastError, "socketpair") }
    return SocketPair(first: NativeSocket(owning: fds.0), second: NativeSocket(owning: fds.1))
  }

  /// Makes a socket that listens on `address`. Port 0 lets the kernel choose; see `localAddress(_:)`.
  ///
  /// A TCP listener gets `SO_REUSEADDR`, so that a restarted server need not wait for old connections to fade, and
  /// `TCP_NODELAY`, which its connections inherit; an IPv6 one takes IPv6 connections only, so that it does not get into
  /// the way of an IPv4 one on the same port, unless it is asked for both. The system's own setting never counts.
  /// - Parameters:
  ///   - reusesPort: Adds `SO_REUSEPORT`, by which several listeners share one port. Not for a Unix path.
  ///   - acceptsIPv4: Has the IPv6 wildcard stand for the IPv4 one too. Of no effect on other addresses.
  static func makeListener(
    on address: SocketAddress, backlog: Int32, reusesPort: Bool = false, acceptsIPv4: Bool = false
  ) throws(StreamError) -> NativeSocket {
    // Older kernels accept the option at a Unix path, and then do not share it.
    if reusesPort, address.family == .unix { throw .misuse(.unsupported, "share a port") }
    let socket = try makeSocket(family: address.family)
    if address.family != .unix {
      _ = setOption(socket.rawValue, level: SOL_SOCKET, name: SO_REUSEADDR, value: 1)
      // The accepted sockets inherit it, without a system call for each.
      _ = setOption(socket.rawValue, level: Flag.tcp, name: TCP_NODELAY, value: 1)
    }
    if address.family == .ipv6 {
      let isDual = acceptsIPv4 && address.isIPv6Wildcard
      let chosen = setOption(socket.rawValue, level: Flag.ipv6, name: IPV6_V6ONLY, value: isDual ? 0 : 1)
      guard chosen == 0 else { throw .posix(chosen, "choose IP versions") }
    }
    if reusesPort {
      // Without it the listener would keep the port to itself, or not get it.
      let shared = setOption(socket.rawValue, level: SOL_SOCKET, name: SO_REUSEPORT, value: 1)
      guard shared == 0 else { throw .posix(shared, "share a port") }
    }
    let bound = bind(socket.rawValue, address)
    guard bound == 0 else { throw .posix(bound, "bind") }
    let listening = listen(socket.rawValue, backlog: backlog)
    guard listening == 0 else { throw .posix(listening, "listen") }
    return socket
  }

  /// Makes somebody else's listening socket ready for use: non-blocking and closed on exec.
  static func prepareListener(_ fd: Int32) throws(StreamError) {
    guard isValid(fd) else { throw .posix(EBADF, "adopt") }
    guard let type = socketType(fd) else { throw .posix(ENOTSOCK, "adopt") }
    guard type == Flag.stream else { throw .posix(EPROTOTYPE, "adopt") }
    guard option(fd, level: SOL_SOCKET, name: SO_ACCEPTCONN) == 1 else { throw .posix(EINVAL, "adopt") }
    switch option(fd, level: SOL_SOCKET, name: SO_DOMAIN) {
    case AF_INET, AF_INET6, AF_UNIX: break
    default: throw .posix(EAFNOSUPPORT, "adopt")
    }
    guard setNonBlocking(fd, true) == 0, fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 else {
      throw .posix(lastError, "adopt")
    }
  }

  /// Starts connecting.
  /// - Returns: 0 when connected at once, `EINPROGRESS` when under way, otherwise the failure's `errno`.
  static func connect(_ fd: Int32, _ address: SocketAddress) -> Int32 {
    let outcome = unsafe address.withNative { native, length in unsafe Glibc.connect(fd, native, length) }
    guard outcome != 0 else { return 0 }
    // A connect that a signal interrupted goes on in the background, as one under way does.
    return lastError == EINTR ? EINPROGRESS : lastError
  }

  /// Gives the socket its local address.
  /// - Returns: 0 or an `errno`.
  static func bind(_ fd: Int32, _ address: SocketAddress) -> Int32 {
    unsafe address.withNative { native, length in unsafe Glibc.bind(fd, native, length) } == 0 ? 0 : lastError
  }

  /// Starts taking connections.
  /// - Returns: 0 or an `errno`.
  static func listen(_ fd: Int32, backlog: Int32) -> Int32 {
    Glibc.listen(fd, backlog) == 0 ? 0 : lastError
  }

  /// What asking a listener for its next connection came to.
  enum Accepted: ~Copyable {
    /// A connection, and who it is with.
    case connection(NativeSocket, peer: SocketAddress)
    /// None is waiting.
    case wouldBlock
    /// The call failed with this `errno`. `ECONNABORTED` and the like concern that one connection only.
    case failed(Int32)
  }

  /// Takes the next waiting connection. Never waits if the listener is non-blocking.
  static func accept(_ fd: Int32) -> Accepted {
    while true {
      var peer = SocketAddress(.unix([]))
      let accepted = unsafe SocketAddress.filled(&peer) { unsafe LinuxCalls.accept(fd, $0, $1) }
      if accepted >= 0 { return .connection(NativeSocket(owning: accepted), peer: peer.unmapped) }
      switch lastError {
      case EINTR: continue
      case EAGAIN: return .wouldBlock
      case let code: return .failed(code)
      }
    }
  }

  // MARK: - Waking a waiting thread

  /// Makes a descriptor that another thread's `wait` can watch.
  static func makeEventDescriptor() throws(StreamError) -> NativeSocket {
    let fd = LinuxCalls.makeEventDescriptor()
    guard fd >= 0 else { throw .posix(lastError, "eventfd") }
    return NativeSocket(owning: fd)
  }

  /// Makes the descriptor readable until `clear(_:)`.
  static func signal(_ eventDescriptor: Int32) {
    // This can only fail by overflow, and then the descriptor is readable already.
    var one: UInt64 = 1
    _ = unsafe write(eventDescriptor, &one, MemoryLayout<UInt64>.size)
  }

  /// Makes the descriptor unreadable again.
  static func clear(_ eventDescriptor: Int32) {
    var count: UInt64 = 0
    _ = unsafe read(eventDescriptor, &count, MemoryLayout<UInt64>.size)
  }
}
