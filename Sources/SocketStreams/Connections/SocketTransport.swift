// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The direct transport: one descriptor, read and written straight from and to the client's memory. Unread bytes stay
// in the kernel; what the kernel does not take waits in a queue here, drained without ever raising SIGPIPE.

/// A connected socket, or one that is going to be.
///
/// `@unchecked Sendable`: guarded by the pair's lock, but for the two events, each of which is touched on the thread of
/// the loop that it is installed on.
final class SocketTransport: StreamTransport, @unchecked Sendable {
  /// Where the descriptor comes from.
  enum Origin {
    /// It has to be made and connected first.
    case toConnect
    /// It was made by this library: connected, non-blocking, closed on exec.
    case connected
    /// It was handed in and has to be looked at; lent unless the pair owns it.
    case native
  }

  // The smallest first, so that they share a word.
  private let origin: Origin
  private var wasBlocking = false
  private var isClaimed = false
  private(set) var isBlocked = false
  private var readWatch = Watch.off
  private var writeWatch = Watch.off
  private var fd: Int32
  /// A failure that a look found, or 0. The kernel tells it once, and shows a plain end afterwards.
  private var seenFailure: Int32 = 0
  /// Where the two halves are watched for.
  private var readLoop: EventLoop?
  private var writeLoop: EventLoop?
  /// The write half, while it is on a loop, which keeps it.
  private unowned var writer: EventTarget?
  private var queue: Evbuffer?
  /// How many bytes are in the queue.
  private(set) var queuedCount = 0
  private var readEvent: EventHandle?
  private var writeEvent: EventHandle?
  private var hangUpEvent: EventHandle?
  private(set) var limits: FlowLimits

  /// A socket that somebody will connect.
  init() {
    origin = .toConnect
    fd = -1
    limits = FlowLimits()
  }

  /// A socket that exists. A lent one takes only what the kernel takes, so that nothing of ours is in flight when it
  /// is given back.
  init(_ descriptor: Int32, _ origin: Origin, isLent: Bool) {
    self.origin = origin
    fd = descriptor
    limits = FlowLimits(outputLimit: isLent ? 0 : FlowLimits().outputLimit)
  }

  // MARK: - Opening

  func open() -> Opening {
    switch origin {
    case .toConnect: return .toConnect
    case .connected: return .opened
    case .native:
      guard let code = claim() else { return .opened }
      // A number that is not open, or another pair's socket, is not this pair's to close.
      if code == Errno.badDescriptor || code == Errno.busy { fd = -1 }
      return .failed(.posix(code, "open"))
    }
  }

  /// Looks at a descriptor that was handed in, and marks it as in use.
  /// - Returns: Why it cannot be used: an `errno`.
  private func claim() -> Int32? {
    guard let isNonBlocking = SystemCalls.isNonBlocking(fd) else { return Errno.badDescriptor }
    guard let type = SystemCalls.socketType(fd) else { return Errno.notSocket }
    guard type == SystemCalls.Flag.stream else { return Errno.wrongType }
    do throws(StreamError) { _ = try SystemCalls.peerAddress(fd) } catch { return error.code }
    guard ClaimedDescriptors.claim(fd) else { return Errno.busy }
    isClaimed = true
    wasBlocking = !isNonBlocking
    if wasBlocking { SystemCalls.setNonBlocking(fd, true) }
    isBlocked = limits.outputLimit == 0 && SystemCalls.wait(fd, for: .writable, timeout: .zero) == .timedOut
    return nil
  }

  func attach(_ descriptor: Int32, on base: EventBase?) { fd = descriptor }
  func listen(_ listener: any TransportListener) {}

  var descriptor: Int32? { fd >= 0 ? fd : nil }
  var usesDescriptor: Bool { true }

  // MARK: - Receiving

  @inline(__always)
  func receive(into buffer: inout MutableRawSpan) -> IOResult {
    if seenFailure != 0 { return .failed(seenFailure) }
    return fd >= 0 ? SystemCalls.receive(fd, into: &buffer) : .wouldBlock
  }

  func peek() -> IOResult {
    if seenFailure != 0 { return .failed(seenFailure) }
    let result = fd >= 0 ? SystemCalls.peek(fd) : .wouldBlock
    if case .failed(let code) = result { seenFailure = code }
    return result
  }

  func watchArrivals(_ watch: Watch, on loop: EventLoop, for half: EventTarget) {
    readWatch = watch
    readLoop = watch == .off ? nil : loop
    if watch == .active, writeLoop === loop { hangUpEvent = nil }
    switch watch {
    case .active, .arrivals:
      if readEvent == nil {
        let flags: EventFlags = loop.handle.reportsEarlyClose ? [.readable, .closed] : .readable
        readEvent = EventHandle(loop.handle, fd: fd, [flags, .persist], target: half)
      }
      readEvent?.add()
    case .idle: readEvent?.delete()
    case .off: readEvent = nil
    }
    if writeLoop === loop { watchHangUp() }
  }

  /// What was not read is the kernel's, whose events repeat.
  var holdsArrivals: Bool { false }
  func stopReceiving() {}

  // MARK: - Sending

  func setLimits(_ limits: FlowLimits) { self.limits = limits }

  /// Nothing is queued, and no write was refused since there was room.
  @inline(__always)
  var isClear: Bool { queuedCount == 0 && !isBlocked }

  var acceptsBytes: Bool { isClear || limits.admitsMore(queued: queuedCount) }

  @inline(__always)
  func send(_ bytes: RawSpan) -> IOResult {
    if fd >= 0, queuedCount == 0 {
      let result = SystemCalls.send(fd, bytes)
      return result == .bytes(bytes.byteCount) ? result : queueRest(of: bytes, after: result)
    }
    return queueRest(of: bytes, after: .wouldBlock)
  }

  @inline(never)
  private func queueRest(of bytes: RawSpan, after sent: IOResult) -> IOResult {
    var taken = 0
    switch sent {
    case .bytes(let count): taken = count
    case .wouldBlock, .end: break
    case .failed: return sent
    }
    let room = limits.room(queued: queuedCount, offered: bytes.byteCount - taken)
    if room > 0 { enqueue(bytes.extracting(taken..<taken + room)) }
    isBlocked = taken + room < bytes.byteCount
    return taken + room > 0 ? .bytes(taken + room) : .wouldBlock
  }

  func send(moving buffer: consuming StreamBuffer) -> IOResult {
    let count = buffer.count
    if fd >= 0, queuedCount == 0 {
      switch buffer.withBytes({ bytes in SystemCalls.send(fd, bytes) }) {
      case .bytes(count): return .bytes(count)
      case .bytes(let taken): buffer.dropFirst(taken)
      case .wouldBlock, .end: break
      case .failed(let code): return .failed(code)
      }
    }
    queuedCount += buffer.count
    if queue == nil { queue = Evbuffer() }
    queue?.append(taking: buffer)
    return .bytes(count)
  }

  func sendAll(_ bytes: RawSpan) -> IOResult {
    var taken = 0
    if fd >= 0, queuedCount == 0 {
      switch SystemCalls.send(fd, bytes) {
      case .bytes(let count): taken = count
      case .wouldBlock, .end: break
      case .failed(let code): return .failed(code)
      }
    }
    if taken < bytes.byteCount { enqueue(bytes.extracting(taken..<bytes.byteCount)) }
    return .bytes(bytes.byteCount)
  }

  private func enqueue(_ bytes: RawSpan) {
    queuedCount += bytes.byteCount
    if queue == nil { queue = Evbuffer() }
    queue?.append(bytes)
  }

  func drain() -> IOResult {
    guard fd >= 0 else { return .wouldBlock }
    if queuedCount > 0 {
      isBlocked = false
      let result = queue?.send(to: fd, atMost: .max) ?? .wouldBlock
      queuedCount = queue?.count ?? 0
      return result
    }
    // Nothing to try with: the kernel has to be asked.
    guard case .ready(let readiness) = SystemCalls.wait(fd, for: .writable, timeout: .zero) else {
      return .wouldBlock
    }
    if readiness.contains(.failed), case let code = SystemCalls.socketError(fd), code != 0 {
      return .failed(code)
    }
    if readiness.contains(.writable) { isBlocked = false }
    return .wouldBlock
  }

  func watchRoom(_ watch: Watch, on loop: EventLoop, for half: EventTarget) {
    if (watch == .arrivals) != (writeWatch == .arrivals) { writeEvent = nil }
    writeWatch = watch
    writeLoop = watch == .off ? nil : loop
    writer = watch == .off ? nil : half
    if watch != .idle { hangUpEvent = nil }
    switch watch {
    case .active, .arrivals:
      if writeEvent == nil {
        let flags: EventFlags = watch == .active ? .writable : .readable
        writeEvent = EventHandle(loop.handle, fd: fd, [flags, .persist], target: half)
      }
      writeEvent?.add()
    case .idle: writeEvent?.delete()
    case .off: writeEvent = nil
    }
    watchHangUp()
  }

  /// Watches for a reset while no other event of the write half's loop would tell it: the write half is idle, and the
  /// read half is paused or elsewhere. Edge-triggered, since an error that nobody takes is reported without end; with
  /// nothing written, and not for arrivals, it fires only once at first. On the thread of the write half's loop.
  private func watchHangUp() {
    let isTold = readWatch == .active && readLoop === writeLoop
    guard writeWatch == .idle, !isTold, hangUpEvent == nil, fd >= 0, let writer, let loop = writeLoop,
      loop.handle.supportsEdgeTrigger
    else { return }
    hangUpEvent = EventHandle(loop.handle, fd: fd, [.writable, .edgeTriggered, .persist], target: writer)
    hangUpEvent?.add()
  }

  func finishSending() {
    if fd >= 0 { SystemCalls.shutdownWriting(fd) }
  }

  func dropQueue() {
    queue = nil
    queuedCount = 0
    isBlocked = false
  }

  // MARK: - The end

  func end(_ ending: SocketSides.Ending) -> Farewell {
    guard fd >= 0 else { return .none }
    defer { fd = -1 }
    return .socket(fd, ending, wasBlocking: wasBlocking, isClaimed: isClaimed)
  }
}
