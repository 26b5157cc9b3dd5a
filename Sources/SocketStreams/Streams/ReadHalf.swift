// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The read half: takes bytes from its source straight into the client's memory. Bytes are kept here only when a client
// was lent more than it used up.

/// `@unchecked Sendable`: as ``StreamHalf``; what is stored here is guarded by `endpoint.lock` too.
final class ReadHalf: StreamHalf, @unchecked Sendable {
  /// Bytes that were lent and not used up, oldest first.
  private var leftover: StreamBuffer?
  private(set) var leftoverCount = 0
  /// Bytes are lent at this moment, so nobody else may read, and the end may not be told.
  var isLending = false

  init(_ endpoint: Endpoint) { super.init(.reading, endpoint) }

  /// Keeps what a client left of what it was lent.
  func keepLeftover(_ buffer: consuming StreamBuffer) {
    leftoverCount = buffer.count
    leftover = consume buffer
  }

  func takeLeftover() -> StreamBuffer? {
    leftoverCount = 0
    return leftover.take()
  }

  // MARK: - What StreamHalf asks

  override func wantedWatch(_ effects: StreamEffects) -> Watch {
    guard home != nil, effects.contains(.stayOnLoop) else { return .off }
    return effects.contains(.watch) ? .active : .idle
  }

  override func setWatch(_ watch: Watch, on loop: EventLoop) {
    endpoint.transport.watchArrivals(watch, on: loop, for: self)
  }

  override var isWaitingForPeer: Bool { lifecycle.effects.contains(.watch) }

  override func look() {
    guard lifecycle.status == .open, !isLending else { return }
    if leftoverCount > 0 {
      lifecycle.bytesArrived()
    } else {
      found(endpoint.transport.peek())
    }
  }

  override func connectionOpened() { lifecycle.transportOpened(ready: false) }

  /// Bytes that arrived before the failure come first: the failure is found again behind the last of them.
  override func connectionFailed() {
    if lifecycle.status == .open {
      if leftoverCount > 0 || isLending { return }
      if case .bytes = endpoint.transport.peek() { return }
    }
    lifecycle.transportFailed()
  }

  override func leaveTransport() {
    _ = takeLeftover()
    endpoint.transport.stopReceiving()
  }

  override func tell(_ client: AnyObject, _ stream: AnyObject, _ event: StreamEvent) {
    unsafe unsafeDowncast(client, to: StreamClient<ReadStream>.self)
      .tell(unsafeDowncast(stream, to: ReadStream.self), event)
  }

  /// The descriptor's event. `.readable` alone means bytes (or a failure, which the read will tell); with the peer's
  /// end reported, or a client that would not read, a look is needed.
  override func eventFired(_ flags: EventFlags) {
    endpoint.lock.lock()
    guard let installed else { return endpoint.lock.unlock() }
    if flags.contains(.closed) || !lifecycle.wantsData || !installed.handle.reportsEarlyClose {
      look()
    } else {
      lifecycle.bytesArrived()
    }
    endpoint.signalWaiters()
    deliver(on: installed)
  }

  // MARK: - Reading

  /// After a read: a transport without events of its own will not repeat what it said.
  func lookAgain() {
    if !endpoint.transport.usesDescriptor, endpoint.transport.peek() != .wouldBlock { transportSignalled() }
  }

  /// What is there for a reader. The lock is held. The end and failures change the state.
  func found(_ result: IOResult) {
    switch result {
    case .bytes: lifecycle.bytesArrived()
    // A time limit, or a failure that the kernel told the other half: behind the last byte it is this half's too.
    case .wouldBlock: if endpoint.failure != nil { lifecycle.transportFailed() }
    case .end: ended()
    case .failed(let code): endpoint.fail(.posix(code, "read"), by: self)
    }
  }

  private func ended() {
    endpoint.sides.endSeen()
    if endpoint.failure != nil {
      // The kernel told the failure to the other half, and shows a plain end here.
      lifecycle.transportFailed()
    } else {
      lifecycle.transportEnded()
    }
  }

  /// Whether a read would return at once. Takes nothing, changes nothing.
  var hasBytesAvailable: Bool {
    endpoint.lock.withLock {
      guard lifecycle.status == .open else { return false }
      if leftoverCount > 0 || isLending || endpoint.failure != nil { return true }
      return endpoint.transport.peek() != .wouldBlock
    }
  }

  /// Reads what is there. `nil`: nothing yet; 0: the end, or a buffer of no bytes.
  func read(into buffer: inout MutableRawSpan, for stream: ReadStream) throws(StreamError) -> Int? {
    endpoint.lock.lock()
    guard lifecycle.status == .open, !isLending else { return try readWhileNotOpen() }
    if buffer.byteCount == 0 {
      endpoint.lock.unlock()
      return 0
    }
    let count: Int?
    switch take(into: &buffer) {
    case .bytes(let taken):
      progressed(taken)
      lifecycle.didRead(left: leftoverCount > 0)
      if endpoint.failure != nil { look() }
      count = taken
    case .wouldBlock:
      lifecycle.didRead(left: false)
      found(.wouldBlock)
      count = nil
    case .end:
      ended()
      count = 0
    case .failed(let code):
      endpoint.fail(.posix(code, "read"), by: self)
      count = nil
    }
    lookAgain()
    // Bytes that were taken are the answer; a failure behind them is the next call's.
    let failure = count == nil ? error : nil
    moved(by: stream)
    if let failure { throw failure }
    return count
  }

  /// Gives the lock back.
  private func readWhileNotOpen() throws(StreamError) -> Int? {
    defer { endpoint.lock.unlock() }
    switch lifecycle.status {
    case .atEnd: return 0
    case .opening: return nil
    case .error: throw endpoint.failure ?? .misuse(.notOpen, "read")
    case .open: throw .misuse(.busy, "read")
    default: throw .misuse(.notOpen, "read")
    }
  }

  private func take(into buffer: inout MutableRawSpan) -> IOResult {
    if leftoverCount > 0 {
      let count = leftover!.moveFirst(into: &buffer)  // not nil: it has a count
      leftoverCount -= count
      if leftoverCount == 0 { leftover = nil }
      return .bytes(count)
    }
    return endpoint.transport.receive(into: &buffer)
  }

  /// Reads into a buffer of the client's. `nil`: nothing yet.
  func fill(_ buffer: inout StreamBuffer, for stream: ReadStream) throws(StreamError) -> Int? {
    var failure: StreamError?
    var count: Int?
    _ = buffer.append { space in
      do throws(StreamError) {
        count = try read(into: &space, for: stream)
      } catch {
        failure = error
      }
      return count.map { .bytes($0) } ?? .wouldBlock
    }
    if let failure { throw failure }
    return count
  }

  func waitUntilReady(timeout: Duration?) -> Bool {
    let end = timeout.map { SystemCalls.monotonicNow() &+ $0.clampedNanoseconds }
    while true {
      let now = SystemCalls.monotonicNow()
      let rest = end.map { Duration.nanoseconds(Int64(clamping: $0 > now ? $0 - now : 0)) }
      let (status, limit, count) = endpoint.lock.withLock {
        (lifecycle.status, deadline.duration, endpoint.reading.byteCount)
      }
      guard let limit, status == .opening || rest.map({ limit < $0 }) ?? true else { return wait(rest) }
      if status == .opening {
        // The limit counts from when bytes can come.
        guard wait(rest, for: { lifecycle.status != .opening }) else { return false }
        continue
      }
      if wait(limit) { return true }
      endpoint.lock.lock()
      // Meanwhile another thread may have read, or bytes may have come after all.
      if lifecycle.status == .open, !isReady, endpoint.reading.byteCount == count { deadlinePassed() }
      changed(by: nil)
    }
  }

  private func wait(_ timeout: Duration?) -> Bool { wait(timeout) { isReady } }

  private func wait(_ timeout: Duration?, for condition: () -> Bool) -> Bool {
    endpoint.wait(for: .readable, timeout: timeout, until: condition)
  }

  /// Whether a read would answer. The lock is held.
  private var isReady: Bool {
    switch lifecycle.status {
    case .opening: false
    case .open: leftoverCount > 0 || endpoint.failure != nil || endpoint.transport.peek() != .wouldBlock
    default: true
    }
  }
}
