// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the options of a connection mean to its socket.

internal import Glibc

extension ConnectionOptions {
  /// Sets what has to be set before connecting: buffer sizes, which decide TCP's window, and the local address. (A14, I2)
  /// - Returns: 0, or why the local address cannot be had.
  func configureUnconnected(_ fd: Int32, _ family: SocketAddress.Family) -> Int32 {
    // The kernel moves sizes into its limits and does not fail.
    if let size = sendBufferSize {
      _ = SystemCalls.setOption(fd, level: SOL_SOCKET, name: SO_SNDBUF, value: size)
    }
    if let size = receiveBufferSize {
      _ = SystemCalls.setOption(fd, level: SOL_SOCKET, name: SO_RCVBUF, value: size)
    }
    guard let localAddress else { return 0 }
    guard localAddress.family == family else { return EAFNOSUPPORT }
    if let port = localAddress.port, port != 0 {
      // Attempts that race from one port, and connections that ended a moment ago, would take it from each other.
      _ = SystemCalls.setOption(fd, level: SOL_SOCKET, name: SO_REUSEADDR, value: 1)
    }
    return SystemCalls.bind(fd, localAddress)
  }

  /// Sets what a connected socket needs. Options of TCP are not set on Unix sockets, which would refuse them. (H3, I1)
  func configureConnected(_ fd: Int32, _ family: SocketAddress.Family) {
    guard family != .unix else { return }
    let tcp = SystemCalls.Flag.tcp
    if noDelay { _ = SystemCalls.setOption(fd, level: tcp, name: TCP_NODELAY, value: 1) }
    if let keepAlive { _ = ConnectionOptions.apply(keepAlive, to: fd) }
  }
}

extension Duration {
  /// Rounded up, and within what the kernel accepts for TCP's probes.
  fileprivate var wholeSeconds: Int32 {
    Int32(min(max((clampedNanoseconds + 999_999_999) / 1_000_000_000, 1), 32_767))
  }
}

extension ConnectionOptions {
  /// Turns probes of a connected TCP socket on or off.
  /// - Returns: 0 or an `errno`.
  static func apply(_ keepAlive: KeepAlive?, to fd: Int32) -> Int32 {
    let tcp = SystemCalls.Flag.tcp
    guard let keepAlive else {
      return SystemCalls.setOption(fd, level: SOL_SOCKET, name: SO_KEEPALIVE, value: 0)
    }
    for (name, value) in [
      (TCP_KEEPIDLE, keepAlive.idle.wholeSeconds), (TCP_KEEPINTVL, keepAlive.interval.wholeSeconds),
      (TCP_KEEPCNT, min(max(keepAlive.count, 1), 127)),
    ] {
      let code = SystemCalls.setOption(fd, level: tcp, name: name, value: value)
      if code != 0 { return code }
    }
    return SystemCalls.setOption(fd, level: SOL_SOCKET, name: SO_KEEPALIVE, value: 1)
  }

  /// The probes of a socket; `nil` if it has none.
  static func keepAlive(of fd: Int32) -> KeepAlive? {
    let tcp = SystemCalls.Flag.tcp
    guard SystemCalls.option(fd, level: SOL_SOCKET, name: SO_KEEPALIVE) == 1,
      let idle = SystemCalls.option(fd, level: tcp, name: TCP_KEEPIDLE),
      let interval = SystemCalls.option(fd, level: tcp, name: TCP_KEEPINTVL),
      let count = SystemCalls.option(fd, level: tcp, name: TCP_KEEPCNT)
    else { return nil }
    return KeepAlive(idle: .seconds(Int64(idle)), interval: .seconds(Int64(interval)), count: count)
  }
}
