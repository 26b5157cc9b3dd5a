// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The write half: passes bytes straight on to its sink, which queues what the kernel does not take. A half that was
// closed with bytes queued lives on, on the shared base, until they are out.

/// `@unchecked Sendable`: as ``StreamHalf``; what is stored here is guarded by `endpoint.lock` too.
final class WriteHalf: StreamHalf, @unchecked Sendable {
  /// Who has more bytes for the stream.
  private(set) weak var supplier: (any ByteSupplier)?

  init(_ endpoint: Endpoint) { super.init(.writing, endpoint) }

  /// Says who has bytes for the stream, for as long as that one is there.
  func takeBytes(of supplier: any ByteSupplier) { endpoint.lock.withLock { self.supplier = supplier } }

  private var sink: any StreamSink {
    @inline(__always) get { endpoint.transport }
  }

  /// Bytes are queued and a connection is there to take them.
  private var hasBacklog: Bool { endpoint.isConnected && endpoint.transport.queuedCount > 0 }

  /// Bytes are queued, and no loop has the event that would send them.
  var isStranded: Bool { hasBacklog && installed == nil && endpoint.transport.usesDescriptor }

  // MARK: - What StreamHalf asks

  override func place(_ effects: StreamEffects) -> EventLoop? {
    if let home, effects.contains(.stayOnLoop) { return home.loop }
    // Scheduled nowhere, or closed: what was accepted is sent all the same.
    return endpoint.isConnected && (hasBacklog || isHeldUp) ? .shared : nil
  }

  override func wantedWatch(_ effects: StreamEffects) -> Watch {
    if hasBacklog || isHeldUp { return openWatch }
    guard home != nil, effects.contains(.stayOnLoop), endpoint.isConnected else { return .off }
    return openWatch
  }

  /// What an open half waits for.
  private var openWatch: Watch {
    if let secured = endpoint.secured {
      if secured.awaitsArrivals { return .arrivals }
      if secured.awaitsOwner, !secured.awaitsRoom { return .idle }
    }
    return sink.isBlocked || hasBacklog ? .active : .idle
  }

  override func setWatch(_ watch: Watch, on loop: EventLoop) { sink.watchRoom(watch, on: loop, for: self) }

  override var isWaitingForPeer: Bool { hasBacklog || (lifecycle.status == .open && sink.isBlocked) }

  override func look() {
    if endpoint.isConnected, endpoint.direct == nil {
      drain()
    } else if lifecycle.status == .open, sink.acceptsBytes {
      lifecycle.roomAppeared()
    }
  }

  override func connectionOpened() { lifecycle.transportOpened(ready: sink.acceptsBytes) }

  override func connectionFailed() {
    sink.dropQueue()
    super.connectionFailed()
  }

  override var isFinished: Bool { sink.queuedCount == 0 && !isHeldUp }

  /// The end cannot be told yet: there is no connection, or both sides still agree on how to secure it.
  private var isHeldUp: Bool {
    isGone && (endpoint.isConnecting || endpoint.secured?.isSecuring == true) && endpoint.reader != nil
      && !endpoint.hasFailed && !endpoint.sides.isAborted
  }

  override func leaveTransport() {
    if endpoint.sides.owesEnd { sink.finishSending() }
  }

  override func willLeave() {
    if !endpoint.isIdle, !endpoint.hasFailed, !endpoint.sides.isAborted { sink.prepareToFinish() }
    guard sink.queuedCount > 0 else { return }
    deadline.limitChanged(
      endpoint.limits?.linger ?? StreamLimits.defaultLinger, now: SystemCalls.monotonicNow())
    limitChanged()
  }

  override func lookForProgress() { drain() }

  override func deadlinePassed() {
    if isGone {
      endpoint.sides.broke()
      sink.dropQueue()
    } else {
      super.deadlinePassed()
    }
  }

  override var watchWhenSeated: Watch {
    endpoint.isClear ? .idle : openWatch
  }

  /// The descriptor's event: there is room.
  override func eventFired(_ flags: EventFlags) {
    endpoint.lock.lock()
    guard isInstalled else { return endpoint.lock.unlock() }
    drain()
    endpoint.signalWaiters()
    deliver()
  }

  // MARK: - Writing

  /// Passes on what is queued. The lock is held.
  func drain() {
    let before = sink.queuedCount
    let result = sink.drain()
    let moved = before - sink.queuedCount
    if moved > 0 { progressed() }
    if case .failed(let code) = result { return endpoint.fail(code, "write", by: self) }
    if sink.queuedCount == 0, lifecycle.status == .open, sink.acceptsBytes { lifecycle.roomAppeared() }
  }

  /// Has writes take no more than the kernel does, where there is a kernel's buffer.
  func stopQueueing() {
    endpoint.lock.withLock {
      guard endpoint.transport.usesDescriptor else { return }
      var limits = endpoint.transport.limits
      limits.outputLimit = 0
      endpoint.transport.setLimits(limits)
    }
  }

  /// Whether there is no room, and no kernel that takes bytes away by itself.
  var isFullInMemory: Bool {
    endpoint.lock.withLock { !endpoint.transport.usesDescriptor && !endpoint.transport.acceptsBytes }
  }

  /// Whether a write of one byte would be taken.
  var canAcceptBytes: Bool {
    endpoint.lock.withLock {
      guard lifecycle.status == .open else { return false }
      if endpoint.isClear { return true }
      if sink.isBlocked && sink.queuedCount == 0 && endpoint.transport.usesDescriptor
        || endpoint.secured?.isMovedByArrivals == true
      {
        // Nothing of ours is queued whose sending would tell of room; on no loop, only the kernel can, or the peer.
        drain()
        if lifecycle.status != .open { transportSignalled() }
      }
      return lifecycle.status == .open && sink.acceptsBytes
    }
  }

  /// Takes over as many bytes as fit. `nil`: full.
  @inline(__always)
  func write(_ bytes: RawSpan, for stream: WriteStream) throws(StreamError) -> Int? {
    endpoint.lock.lock()
    guard lifecycle.status == .open || lifecycle.status == .opening else { throw refusal() }
    if bytes.byteCount == 0 {
      rearm(for: stream)
      return 0
    }
    return try wrote(endpoint.send(bytes), for: stream)
  }

  /// Takes over a whole buffer.
  func write(moving buffer: consuming StreamBuffer, for stream: WriteStream) throws(StreamError) {
    endpoint.lock.lock()
    guard lifecycle.status == .open || lifecycle.status == .opening else { throw refusal() }
    guard sink.limits.admitsMoved(queued: sink.queuedCount, count: buffer.count) else {
      endpoint.lock.unlock()
      throw .misuse(.queueFull, "write")
    }
    if buffer.count == 0 {
      rearm(for: stream)
    } else {
      _ = try wrote(sink.send(moving: buffer), for: stream)
    }
  }

  /// Gives the lock back.
  @inline(__always)
  private func wrote(_ result: IOResult, for stream: WriteStream) throws(StreamError) -> Int? {
    guard case .bytes(let count) = result else { return try wroteNothing(result, for: stream) }
    endpoint.bytesWritten &+= UInt64(count)
    progressed()
    let isClear = endpoint.isClear
    lifecycle.didWrite(room: isClear || sink.acceptsBytes)
    moved(by: stream, watching: isClear ? .idle : watchWhenSeated)
    return count
  }

  /// Gives the lock back.
  @inline(never)
  private func wroteNothing(_ result: IOResult, for stream: WriteStream) throws(StreamError) -> Int? {
    if case .failed(let code) = result {
      endpoint.fail(code, "write", by: self)
    } else {
      lifecycle.didWrite(room: false)
    }
    let failure = error
    moved(by: stream, watching: watchWhenSeated)
    if let failure { throw failure }
    return nil
  }

  /// Why nothing can be written. Gives the lock back.
  @inline(never)
  private func refusal() -> StreamError {
    defer { endpoint.lock.unlock() }
    return lifecycle.status == .error
      ? endpoint.failure ?? .misuse(.notOpen, "write") : .misuse(.notOpen, "write")
  }

  /// Asks for the event once more. The lock is held; gives it back.
  private func rearm(for stream: WriteStream) {
    lifecycle.didWrite(room: sink.acceptsBytes)
    changed(by: stream)
  }

  func rearm(_ stream: WriteStream) {
    endpoint.lock.lock()
    rearm(for: stream)
  }
}
