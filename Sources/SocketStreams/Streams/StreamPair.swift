// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Every way to make the two streams of one connection. None of them blocks or touches the network.

/// The two streams of one connection.
///
/// Making a pair looks up nothing and connects to nothing; the first `open` does. Either half may be used alone:
/// `StreamPair(host: "example.org", port: 7).input` is a read stream whose write stream was declined. A half that is
/// dropped counts as closed, and the connection ends when both halves are.
public struct StreamPair: Sendable {
  /// Bytes coming in.
  public let input: ReadStream
  /// Bytes going out.
  public let output: WriteStream

  /// The halves of one endpoint.
  init(_ endpoint: Endpoint) {
    let (reader, writer) = endpoint.makeHalves()
    input = ReadStream(reader)
    output = WriteStream(writer)
  }

  private init(_ target: ConnectTarget, _ options: ConnectionOptions) {
    let transport: any StreamTransport =
      switch options.transport {
      case .direct: SocketTransport()
      case .bufferevent: BuffereventTransport()
      }
    let origin = ConnectionOrigin(plan: ConnectPlan(target, options))
    self.init(Endpoint(transport, ownsDescriptor: true, from: origin))
  }

  // MARK: - Connecting

  /// Streams to a host, which may be a name, an IPv4 address, or an IPv6 address with or without brackets and scope.
  ///
  /// An empty host, or a port of 0, makes a pair whose open fails with ``StreamError/Misuse/badAddress``.
  /// - Parameters:
  ///   - host: Looked up when the pair is opened. All its addresses are tried, beside each other after a while.
  ///   - port: From 1 to 65535.
  ///   - options: How to connect, and over which transport.
  ///
  /// Corresponds to `CFStreamCreatePairWithSocketToHost`.
  public init(host: String, port: UInt16, options: ConnectionOptions = ConnectionOptions()) {
    self.init(.host(host, port), options)
  }

  /// Streams to `"host:port"`, with an IPv6 address in brackets.
  /// - Throws: ``StreamError/Misuse/badAddress`` with a sentence that says what is wrong with the text.
  public init(_ hostAndPort: String, options: ConnectionOptions = ConnectionOptions()) throws(StreamError) {
    let parsed = try HostAndPort(parsing: hostAndPort)
    self.init(host: parsed.host, port: parsed.port, options: options)
  }

  /// Streams to an address.
  ///
  /// Corresponds to `CFStreamCreatePairWithPeerSocketSignature`.
  public init(address: SocketAddress, options: ConnectionOptions = ConnectionOptions()) {
    self.init(.address(address), options)
  }

  /// Streams to a Unix-domain socket. TCP's options are ignored.
  /// - Throws: `ENAMETOOLONG` for more than 107 bytes, `EINVAL` for an empty path or one with a zero byte.
  public init(unixPath: String, options: ConnectionOptions = ConnectionOptions()) throws(StreamError) {
    self.init(address: try SocketAddress(unixPath: unixPath), options: options)
  }

  // MARK: - Sockets that exist

  /// Streams on a connected socket that the pair takes over and closes.
  public init(adopting socket: consuming NativeSocket) {
    self.init(Endpoint(SocketTransport(socket.release(), .native, isLent: false), ownsDescriptor: true))
  }

  /// Streams on a connected socket that stays its owner's, unless `closesWhenDone`.
  ///
  /// While the pair is open nobody else may read, write or watch the socket: a second pair on it fails to open with
  /// `EBUSY`. A lent socket is given back as it was found, with nothing of this library's in flight: its write stream
  /// takes only what the kernel takes, and closing that does not shut the socket down.
  /// Of a pair that is scheduled, a close on another thread than the base's gives it back with the next pass of the
  /// base: a `sync` on the base afterwards waits for that.
  ///
  /// A descriptor that is not open, no stream socket, or not connected is found out by `open`, which then returns
  /// `false`, with `EBADF`, `ENOTSOCK`, `EPROTOTYPE` or `ENOTCONN`.
  ///
  /// Corresponds to `CFStreamCreatePairWithSocket`.
  public init(nativeSocket: Int32, closesWhenDone: Bool = false) {
    let transport = SocketTransport(nativeSocket, .native, isLent: !closesWhenDone)
    self.init(Endpoint(transport, ownsDescriptor: closesWhenDone))
  }

  /// Streams on a socket that this library made: known to be connected, non-blocking and closed on exec.
  /// - Parameter keeper: Who is told of the end.
  init(accepted socket: consuming NativeSocket, by keeper: PairKeeper? = nil) {
    self.init(
      Endpoint(
        SocketTransport(socket.release(), .connected, isLent: false), ownsDescriptor: true,
        from: ConnectionOrigin(keeper: keeper)))
  }

  /// Streams on a whole `bufferevent` that lives on `base`: a host's own, a filter, one with TLS or rate limits.
  ///
  /// Its callbacks are replaced, and nobody else may use it until both streams are closed; then it is freed, unless
  /// `freesWhenDone` is false, which leaves it without callbacks, disabled. Called on the thread of `base`, or while
  /// nobody runs it.
  @unsafe
  public init(adopting bufferevent: OpaquePointer, on base: EventBase, freesWhenDone: Bool = true) {
    let transport = unsafe BuffereventTransport(adopting: bufferevent, on: base)
    self.init(Endpoint(transport, ownsDescriptor: freesWhenDone))
  }

  // MARK: - In the process

  /// Two streams that feed each other in memory: what `output` takes comes out of `input`.
  /// - Parameter bufferSize: How many bytes may be on the way, 1 or more.
  ///
  /// Corresponds to `CFStreamCreateBoundPair`.
  public static func bound(bufferSize: Int = 65_536) -> StreamPair {
    StreamPair(Endpoint(BoundTransport(bufferSize: bufferSize), ownsDescriptor: true))
  }

  /// Two pairs that are connected to each other by a socket pair of the kernel.
  /// - Throws: `EMFILE` or `ENFILE` when descriptors run out.
  public static func connected() throws(StreamError) -> (StreamPair, StreamPair) {
    let sockets = try SystemCalls.socketPair()
    let (first, second) = sockets.release()
    return (
      StreamPair(accepted: NativeSocket(owning: first)), StreamPair(accepted: NativeSocket(owning: second))
    )
  }

  // MARK: - Both at once

  /// Opens both halves at once: nothing is told of one before the other is open.
  /// - Returns: Whether both could be.
  @discardableResult
  public func open() -> Bool { StreamHalf.open(self) }

  /// Closes both halves; what was accepted is still sent.
  public func close() {
    input.close()
    output.close()
  }

  /// Schedules both halves on `base`.
  public func schedule(on base: EventBase) {
    input.schedule(on: base)
    output.schedule(on: base)
  }

  /// Unschedules both halves from `base`.
  public func unschedule(from base: EventBase) {
    input.unschedule(from: base)
    output.unschedule(from: base)
  }

  /// Calls `body` once, when the pair is over: both halves were closed, dropped or aborted, and what was accepted is out
  /// or given up; at once if that is so already. No lock is held; the thread is the one on which the last half ended,
  /// whichever that is.
  ///
  /// A pair that has failed is not over until its owner closes or drops it. The socket is closed by then, or lingers
  /// for the kernel's last bytes, which nobody has to wait for; one that was lent is given back. `body` is kept until
  /// it is called, so it must not hold the pair.
  package func whenOver(_ body: @escaping @Sendable () -> Void) { input.half.endpoint.whenOver(body) }

  /// Cuts the connection; see ``SocketStream/abort()``.
  public func abort() { input.abort() }
}
