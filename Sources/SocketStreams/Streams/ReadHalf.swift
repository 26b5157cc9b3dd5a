// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The read half: takes bytes from its source straight into the client's memory. Bytes are kept here only when a client
// was lent more than it used up.

/// `@unchecked Sendable`: as ``StreamHalf``; what is stored here is guarded by `endpoint.lock` too.
final class ReadHalf: StreamHalf, @unchecked Sendable {
  /// Bytes that were lent and not used up, oldest first.
  private var leftover: Leftover?
  private(set) var leftoverCount = 0
  /// Who takes bytes from the stream and keeps some of them for later.
  private(set) weak var holder: (any ByteHolder)?
  /// Bytes are lent at this moment, so nobody else may read, and the end may not be told.
  var isLending = false

  init(_ endpoint: Endpoint) { super.init(.reading, endpoint) }

  /// Keeps what a client left of what it was lent, in front of what is here from behind it.
  func keepLeftover(_ buffer: consuming StreamBuffer) {
    var whole = buffer
    takeLeftover()?.withBytes { behind in whole.append(behind) }
    keep(whole)
  }

  /// Keeps bytes that were taken from the wire and come after all that are here.
  func keepBehind(_ buffer: consuming StreamBuffer) {
    endpoint.bytesRead &+= UInt64(buffer.count)
    var front = takeLeftover() ?? StreamBuffer(capacity: buffer.count)
    buffer.withBytes { bytes in front.append(bytes) }
    keep(front)
  }

  private func keep(_ buffer: consuming StreamBuffer) {
    leftoverCount = buffer.count
    let leftover = leftover ?? Leftover()
    self.leftover = leftover
    leftover.bytes = consume buffer
  }

  func takeLeftover() -> StreamBuffer? {
    guard leftoverCount > 0 else { return nil }
    leftoverCount = 0
    return leftover?.bytes.take()
  }

  /// The peer's end comes as an event of its own, so that any other means bytes or a failure.
  private var endIsReported = false

  /// Says who takes the stream's bytes, for as long as that one is there.
  func holdBytes(_ holder: any ByteHolder) { endpoint.lock.withLock { self.holder = holder } }

  // MARK: - What StreamHalf asks

  override func wantedWatch(_ effects: StreamEffects) -> Watch {
    guard home != nil, effects.contains(.stayOnLoop) else { return .off }
    return effects.contains(.watch) && !awaitsOwner ? .active : .idle
  }

  override func setWatch(_ watch: Watch, on loop: EventLoop) {
    endIsReported = loop.handle.reportsEarlyClose
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

  @inline(__always)
  override var watchWhenSeated: Watch { lifecycle.isWatching && !awaitsOwner ? .active : .idle }

  /// What arrives cannot be taken yet: its event would come again and again.
  @inline(__always)
  private var awaitsOwner: Bool { endpoint.secured?.awaitsOwner == true }

  /// The descriptor's event. `.readable` alone means bytes (or a failure, which the read will tell); with the peer's
  /// end reported, a client that would not read, or bytes that are secured, a look is needed.
  override func eventFired(_ flags: EventFlags) {
    endpoint.lock.lock()
    guard isInstalled else { return endpoint.lock.unlock() }
    if flags.contains(.closed) || !lifecycle.wantsData || !endIsReported || endpoint.direct == nil {
      look()
    } else {
      lifecycle.bytesArrived()
    }
    endpoint.signalWaiters()
    deliver()
  }

  // MARK: - Reading

  /// After a read: a transport without events of its own will not repeat what it said.
  @inline(__always)
  func lookAgain() {
    if endpoint.direct == nil { lookAgainIfToldOnce() }
  }

  @inline(never)
  private func lookAgainIfToldOnce() {
    if endpoint.transport.holdsArrivals { transportSignalled() }
  }

  /// What a read would answer, asked on any thread. What is held here meanwhile, and was not announced, is to be. The lock
  /// is held.
  private func ask() -> IOResult {
    let result = endpoint.transport.peek()
    if lifecycle.isWatching { lookAgain() }
    return result
  }

  /// What is there for a reader. The lock is held. The end and failures change the state.
  func found(_ result: IOResult) {
    switch result {
    case .bytes: lifecycle.bytesArrived()
    // A time limit, or a failure that the kernel told the other half: behind the last byte it is this half's too.
    case .wouldBlock: if endpoint.hasFailed { lifecycle.transportFailed() }
    case .end: ended()
    case .failed(let code): endpoint.fail(code, "read", by: self)
    }
  }

  private func ended() {
    endpoint.sides.endSeen()
    if endpoint.hasFailed {
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
      if leftoverCount > 0 || isLending || endpoint.hasFailed { return true }
      return ask() != .wouldBlock
    }
  }

  /// Whether bytes are there. If the end or a failure is there instead, it becomes known, and the client is told.
  func findBytes(for stream: ReadStream) -> Bool {
    endpoint.lock.lock()
    guard lifecycle.status == .open, !isLending, leftoverCount == 0 else {
      defer { endpoint.lock.unlock() }
      return leftoverCount > 0
    }
    let result = ask()
    if case .bytes = result {
      endpoint.lock.unlock()
      return true
    }
    // What was announced has been read meanwhile: the next bytes are to be announced again.
    if result == .wouldBlock { lifecycle.didRead(left: false) }
    found(result)
    changed(by: stream)
    return false
  }

  /// Reads what is there. `nil`: nothing yet; 0: the end, or a buffer of no bytes.
  @inline(__always)
  func read(into buffer: inout MutableRawSpan, for stream: ReadStream) throws(StreamError) -> Int? {
    endpoint.lock.lock()
    guard lifecycle.status == .open, !isLending else { return try readWhileNotOpen() }
    if buffer.byteCount == 0 {
      endpoint.lock.unlock()
      return 0
    }
    let result = take(into: &buffer)
    guard case .bytes(let count) = result else { return try readNothing(result, for: stream) }
    progressed()
    lifecycle.didRead(left: leftoverCount > 0)
    // Bytes that were taken are the answer; a failure behind them is the next call's.
    if endpoint.hasFailed { look() }
    lookAgain()
    moved(by: stream, watching: watchWhenSeated)
    return count
  }

  /// There was nothing to take. Gives the lock back.
  @inline(never)
  private func readNothing(_ result: IOResult, for stream: ReadStream) throws(StreamError) -> Int? {
    if result == .wouldBlock { lifecycle.didRead(left: false) }
    found(result)
    lookAgain()
    let failure = error
    moved(by: stream, watching: watchWhenSeated)
    if let failure { throw failure }
    return result == .end ? 0 : nil
  }

  /// Gives the lock back.
  @inline(never)
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

  @inline(__always)
  private func take(into buffer: inout MutableRawSpan) -> IOResult {
    if leftoverCount > 0 { return takeLeftover(into: &buffer) }
    let result = endpoint.receive(into: &buffer)
    // What was left was counted when it came.
    if case .bytes(let count) = result { endpoint.bytesRead &+= UInt64(count) }
    return result
  }

  @inline(never)
  private func takeLeftover(into buffer: inout MutableRawSpan) -> IOResult {
    let count = leftover?.bytes?.moveFirst(into: &buffer) ?? 0
    leftoverCount -= count
    if leftoverCount == 0 { leftover?.bytes = nil }
    return .bytes(count)
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
        (lifecycle.status, deadline.duration, endpoint.bytesRead)
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
      if lifecycle.status == .open, !isReady, endpoint.bytesRead == count { deadlinePassed() }
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
    case .open: leftoverCount > 0 || endpoint.hasFailed || ask() != .wouldBlock
    default: true
    }
  }
}

/// What a half keeps for its client, apart from the half: few ever keep anything.
private final class Leftover {
  var bytes: StreamBuffer?
}
