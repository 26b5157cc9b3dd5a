// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How a stream gets its connection.

/// How a stream gets its connection. What concerns TCP alone is skipped for Unix-domain sockets.
public struct ConnectionOptions: Sendable {
  /// What carries the bytes.
  public enum Transport: Sendable {
    /// The streams read and write the socket themselves, without a buffer between.
    case direct
    /// A libevent `bufferevent`.
    case bufferevent
  }

  /// TCP's probes of an idle connection.
  public struct KeepAlive: Hashable, Sendable {
    /// How long the connection is idle before the first probe. Whole seconds, at least one.
    public var idle: Duration
    /// How long between probes. Whole seconds, at least one.
    public var interval: Duration
    /// How many unanswered probes end the connection, with `ETIMEDOUT`.
    public var count: Int32

    /// Probes after `idle`, every `interval`, at most `count` times.
    public init(idle: Duration = .seconds(60), interval: Duration = .seconds(10), count: Int32 = 6) {
      self.idle = idle
      self.interval = interval
      self.count = count
    }
  }

  /// What carries the bytes.
  public var transport = Transport.direct
  /// Who turns names into addresses.
  public var resolver: any Resolver = SystemResolver.shared
  /// Which kinds of addresses are used, and which first.
  public var addressFamily = AddressFamily.any
  /// How long an attempt may take before the next address is tried beside it, 100 milliseconds to 2 seconds; values
  /// outside are moved to the nearer end.
  public var attemptDelay = Duration.milliseconds(250)
  /// How long looking up and connecting may take together; then it fails with POSIX `ETIMEDOUT`. `nil` leaves it to the
  /// kernel, which gives up on one address after about two minutes.
  public var connectTimeout: Duration?
  /// The address and port that connections come from; port 0 leaves the port to the kernel. Addresses of another family
  /// than this are not tried: they fail with `EAFNOSUPPORT`.
  public var localAddress: SocketAddress?
  /// Whether small writes are sent at once (`TCP_NODELAY`).
  public var noDelay = true
  /// Whether and how idle connections are probed. `nil` for not at all.
  public var keepAlive: KeepAlive?
  /// The kernel's send buffer in bytes (`SO_SNDBUF`), which Linux doubles; `nil` for its own choice.
  public var sendBufferSize: Int32?
  /// The kernel's receive buffer in bytes (`SO_RCVBUF`), which Linux doubles; `nil` for its own choice.
  public var receiveBufferSize: Int32?

  /// The choices above: direct, the system's resolver, any family, 250 ms, no timeout, no delay of small writes.
  public init() {}
}
