// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The seam between streams and what carries their bytes. A transport knows bytes, descriptors and loops; it knows
// nothing of statuses, clients and events, and tells its half only that something may have changed.

/// What a half asks of its transport's events.
enum Watch: Equatable, Sendable {
  /// The half is on no loop: no event may be left.
  case off
  /// The half is on a loop and waits for nothing but, at most, the end of the connection.
  case idle
  /// Tell when bytes arrive, or when there is room.
  case active
  /// For a write half only: tell when bytes arrive, as the peer has to say something before there can be room.
  case arrivals
}

/// What a pair hears from its transport. The pair's lock is held, but for the first function; any thread.
protocol TransportListener: AnyObject, Sendable {
  /// Takes and gives back the pair's lock, for a transport with events of its own.
  func lockPair()
  func unlockPair()
  /// Whether the pair closes what it was given.
  var ownsDescriptor: Bool { get }
  /// Bytes, the end or a failure may be there to receive.
  func arrivalsSignalled()
  /// There may be room to send, or a failure.
  func roomSignalled()
  /// The outcome of an opening that was `.pending`.
  func openingFinished(_ error: StreamError?)
}

/// What opening a transport led to.
enum Opening {
  /// It is connected.
  case opened
  /// It never will be.
  case failed(StreamError)
  /// Somebody has to connect a socket and hand it to `attach`.
  case toConnect
  /// Its peer in memory decides later.
  case pending
}

/// Where a read stream's bytes come from. The pair's lock is held in every call.
protocol StreamSource: AnyObject, Sendable {
  /// Takes bytes that have arrived. `.end` and `.failed` only after the last byte.
  func receive(into buffer: inout MutableRawSpan) -> IOResult
  /// What `receive` would answer, taking nothing: `.bytes` with 1 or more when there are some.
  func peek() -> IOResult
  /// Arranges for `half` to be told of arrivals. On the thread of `loop`.
  func watchArrivals(_ watch: Watch, on loop: EventLoop, for half: EventTarget)
  /// Whether something that `receive` would give out is here already, of which no event will tell.
  var holdsArrivals: Bool { get }
  /// Nobody reads any more. Nothing is told to the peer.
  func stopReceiving()
}

/// Where a write stream's bytes go. The pair's lock is held in every call.
protocol StreamSink: AnyObject, Sendable {
  /// Takes over bytes: 1 or more, `.wouldBlock`, or `.failed`; never `.end`.
  func send(_ bytes: RawSpan) -> IOResult
  /// Takes over all of a buffer, whatever the ordinary limit.
  func send(moving buffer: consuming StreamBuffer) -> IOResult
  /// Takes over all of `bytes`, whatever the limit.
  func sendAll(_ bytes: RawSpan) -> IOResult
  /// Whether a one-byte write would be taken.
  var acceptsBytes: Bool { get }
  /// Bytes taken over that nobody has taken on: neither the kernel nor a peer in memory.
  var queuedCount: Int { get }
  /// Bounds on what is queued.
  var limits: FlowLimits { get }
  /// Sets those bounds.
  func setLimits(_ limits: FlowLimits)
  /// Whether a write was refused and nothing was told of room since.
  var isBlocked: Bool { get }
  /// Passes on what is queued. `.bytes` for progress, `.wouldBlock` for none, `.failed`.
  func drain() -> IOResult
  /// Arranges for `half` to be told of room. On the thread of `loop`.
  func watchRoom(_ watch: Watch, on loop: EventLoop, for half: EventTarget)
  /// Nothing more will be written: takes over what has to follow the last byte.
  func prepareToFinish()
  /// Everything queued is out: ends this direction, so that the peer sees the end.
  func finishSending()
  /// Drops what is queued: the connection failed or is cut.
  func dropQueue()
}

/// Both directions of one connection.
protocol StreamTransport: StreamSource, StreamSink {
  /// Gets connected, or tells how. The pair's lock is held. Called once, unless a connect was cancelled.
  func open() -> Opening
  /// Takes over a connected socket. The pair's lock is held; `base` is where an opened half is scheduled, if any is.
  func attach(_ descriptor: Int32, on base: EventBase?)
  /// The native handle, if there is one. The pair's lock is held.
  var descriptor: Int32? { get }
  /// Whether there is, or will be, a socket that can be closed or left open.
  var hasSocket: Bool { get }
  /// Whether readiness is the descriptor's own, so that a thread may poll it. Otherwise the listener is told of changes.
  var usesDescriptor: Bool { get }
  /// Whether its bytes can be secured: they go to somebody else.
  var canBeSecured: Bool { get }
  /// What the code of a `.failed` means for an operation.
  func error(_ code: Int32, _ operation: String) -> StreamError
  /// Who is told, set before anything else; it outlives the transport.
  func listen(_ listener: any TransportListener)
  /// Both halves are done; nothing is called afterwards but for the properties of a connection that is gone.
  /// - Returns: What to do with the lock free.
  func end(_ ending: SocketSides.Ending) -> Farewell
}

extension StreamTransport {
  var hasSocket: Bool { true }
  var canBeSecured: Bool { true }
  var holdsArrivals: Bool { peek() != .wouldBlock }
  func prepareToFinish() {}
  func sendAll(_ bytes: RawSpan) -> IOResult { send(moving: StreamBuffer(copying: bytes)) }
  func error(_ code: Int32, _ operation: String) -> StreamError { .posix(code, operation) }
}
