// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A whole bufferevent as the transport: one that a host made, or one of ours on a connected socket. It lives on one
// loop for good, and with that loop's end the connection fails; streams on other loops are told across threads. Bytes
// wait in two buffers of ours, guarded by the pair's lock, so that any thread can read and write while libevent's own
// buffers are the loop's alone.

/// The transport that is a bufferevent.
///
/// `@unchecked Sendable`: guarded by the pair's lock, but for `bufferevent`, which is touched on its loop's thread only.
@safe
final class BuffereventTransport: LoopItem, StreamTransport, @unchecked Sendable {
  // The listener owns this transport; while there is a bufferevent, `keepAlive` and the loop keep both.
  private unowned var listener: (any TransportListener)?
  private var keepAlive: (any TransportListener)?
  /// Where the bufferevent lives; held, so that it stays.
  private var base: EventBase?
  private let isAdopted: Bool
  private var fd: Int32 = -1
  private var adopted: OpaquePointer?
  private var bufferevent: Bufferevent?
  private var inbox = Evbuffer()
  private var outbox = Evbuffer()
  /// How many bytes libevent's own output holds.
  private var outputCount = 0
  /// What libevent still holds counts no more: the connection failed or is cut.
  private var isDropped = false
  private var isReadingPaused = false
  private var isFinishing = false
  private var isEnded = false
  private var failure: Int32?
  private(set) var isBlocked = false
  private(set) var limits = FlowLimits()

  private static let inputLimit = 65_536

  /// A socket of ours, to be connected first.
  override init() {
    isAdopted = false
    super.init()
  }

  /// One that a host made on `base`.
  @unsafe
  init(adopting bufferevent: OpaquePointer, on base: EventBase) {
    isAdopted = true
    self.base = base
    unsafe adopted = bufferevent
    super.init()
  }

  private var loop: EventLoop { base?.loop ?? .shared }

  func listen(_ listener: any TransportListener) { self.listener = listener }

  func open() -> Opening {
    guard isAdopted else { return .toConnect }
    settleDown()
    return .opened
  }

  func attach(_ descriptor: Int32, on base: EventBase?) {
    fd = descriptor
    // libevent writes with writev, and only on threads of ours SIGPIPE is blocked: not on a host's.
    self.base = base?.loop.kind == .host ? nil : base
    settleDown()
  }

  private func settleDown() {
    keepAlive = listener
    loop.wake(self)
  }

  var descriptor: Int32? { fd >= 0 ? fd : nil }
  var usesDescriptor: Bool { false }

  // MARK: - On the loop. The lock is free whenever libevent is called: a filter may call back at once.

  /// Brings the bufferevent in line with the state: makes it, resumes reading, passes on what was written.
  override func service(on loop: EventLoop) {
    // A wake that was queued before the end finds nobody to tell.
    guard let listener = keepAlive else { return }
    if bufferevent == nil { make(on: loop, listener) }
    listener.lockPair()
    let resumes = isReadingPaused && inbox.count < BuffereventTransport.inputLimit
    if resumes { isReadingPaused = false }
    listener.unlockPair()
    if resumes { bufferevent?.enable(.readable) }
    pass()
  }

  private func make(on loop: EventLoop, _ listener: any TransportListener) {
    listener.lockPair()
    let isWanted = failure == nil
    listener.unlockPair()
    guard isWanted else { return }
    let target = Target(self)
    let made =
      if let adopted = unsafe adopted {
        unsafe Bufferevent(adopting: adopted, on: loop.handle, target: target)
      } else {
        Bufferevent(loop.handle, fd: fd, target: target)
      }
    unsafe adopted = nil
    bufferevent = made
    loop.register(self)
    if isAdopted {
      take(listener)
      listener.lockPair()
      fd = made.fd
      outputCount = made.outputCount
      listener.unlockPair()
    }
    made.enable([.readable, .writable])
  }

  /// Takes what has come out of libevent's hands.
  private func take(_ listener: any TransportListener) {
    guard let bufferevent else { return }
    var pieces = Evbuffer()
    bufferevent.moveInput(into: &pieces)
    listener.lockPair()
    inbox.moveAll(from: &pieces)
    isReadingPaused = inbox.count >= BuffereventTransport.inputLimit
    let pauses = isReadingPaused
    listener.arrivalsSignalled()
    listener.unlockPair()
    if pauses { bufferevent.disable(.readable) }
  }

  /// Gives libevent what was written.
  private func pass() {
    guard let listener = keepAlive, let bufferevent else { return }
    listener.lockPair()
    var pieces = Evbuffer()
    pieces.moveAll(from: &outbox)
    outputCount += pieces.count
    listener.unlockPair()
    if pieces.count > 0 { bufferevent.moveOutput(from: &pieces) }
    listener.lockPair()
    refreshOutput()
    let finishes = isFinishing && queuedCount == 0
    if finishes { isFinishing = false }
    let fd = fd
    listener.unlockPair()
    guard finishes else { return }
    if isAdopted { bufferevent.finishOutput() } else { SystemCalls.shutdownWriting(fd) }
  }

  /// Asks libevent how much it still has: it tells by itself only when that is nothing. On the loop, the lock held.
  private func refreshOutput() { outputCount = isDropped ? 0 : bufferevent?.outputCount ?? 0 }

  fileprivate func bytesArrived() {
    if let listener = keepAlive { take(listener) }
  }

  fileprivate func outputDrained() {
    guard let listener = keepAlive else { return }
    listener.lockPair()
    refreshOutput()
    isBlocked = false
    listener.unlockPair()
    pass()
    listener.lockPair()
    listener.roomSignalled()
    listener.unlockPair()
  }

  fileprivate func eventOccurred(_ what: BuffereventEvents, _ code: Int32) {
    guard let listener = keepAlive else { return }
    take(listener)
    listener.lockPair()
    if what.contains(.timeout) {
      broke(Errno.timedOut)
    } else if what.contains(.error) {
      // 2.1.12: a failed write is told before what had arrived was read.
      if what.contains(.writing), !isAdopted { salvageInput() }
      broke(code == 0 ? Errno.brokenPipe : code)
    } else if what.contains(.end) {
      isEnded = true
    }
    let isBroken = failure != nil
    listener.arrivalsSignalled()
    listener.roomSignalled()
    listener.unlockPair()
    if isBroken { bufferevent?.disable([.readable, .writable]) }
  }

  private func broke(_ code: Int32) {
    if failure == nil { failure = code }
  }

  private func salvageInput() {
    var piece = StreamBuffer(capacity: 16_384)
    while case .bytes = piece.append({ space in SystemCalls.receive(fd, into: &space) }) {
      piece.withBytes { bytes in inbox.append(bytes) }
      piece.dropFirst(piece.count)
    }
  }

  override func loopWillEnd(_ loop: EventLoop) {
    guard let listener = keepAlive else { return }
    letGo(isOwned: listener.ownsDescriptor, on: loop)
    listener.lockPair()
    broke(Errno.aborted)
    dropQueue()
    listener.arrivalsSignalled()
    listener.roomSignalled()
    listener.unlockPair()
  }

  // MARK: - Receiving

  func receive(into buffer: inout MutableRawSpan) -> IOResult {
    let count = inbox.remove(into: &buffer)
    guard count > 0 else { return peek() }
    if isReadingPaused, inbox.count < BuffereventTransport.inputLimit { loop.wake(self) }
    return .bytes(count)
  }

  func peek() -> IOResult {
    if inbox.count > 0 { return .bytes(inbox.count) }
    if let failure { return .failed(failure) }
    return isEnded ? .end : .wouldBlock
  }

  func watchArrivals(_ watch: Watch, on loop: EventLoop, for half: EventTarget) {}
  func stopReceiving() {}

  // MARK: - Sending

  var queuedCount: Int { outbox.count + outputCount }

  func setLimits(_ limits: FlowLimits) { self.limits = limits }

  var acceptsBytes: Bool { failure != nil || limits.admitsMore(queued: queuedCount) }

  func send(_ bytes: RawSpan) -> IOResult {
    if let failure { return .failed(failure) }
    let taken = limits.room(queued: queuedCount, offered: bytes.byteCount)
    isBlocked = taken < bytes.byteCount
    guard taken > 0 else { return .wouldBlock }
    outbox.append(bytes.extracting(0..<taken))
    passSoon()
    return .bytes(taken)
  }

  func send(moving buffer: consuming StreamBuffer) -> IOResult {
    if let failure { return .failed(failure) }
    let count = buffer.count
    outbox.append(taking: buffer)
    passSoon()
    return .bytes(count)
  }

  private func passSoon() {
    if keepAlive != nil { loop.wake(self) }
  }

  func drain() -> IOResult {
    if let failure { return .failed(failure) }
    if loop.isCurrent, bufferevent != nil { refreshOutput() }
    return .wouldBlock
  }
  func watchRoom(_ watch: Watch, on loop: EventLoop, for half: EventTarget) {}

  func finishSending() {
    isFinishing = true
    passSoon()
  }

  func dropQueue() {
    isDropped = true
    outbox = Evbuffer()
    outputCount = 0
    isBlocked = false
  }

  // MARK: - The end

  func end(_ ending: SocketSides.Ending) -> Farewell {
    defer { fd = -1 }
    return unsafe keepAlive != nil || adopted != nil ? .bufferevent(self, ending, fd) : .none
  }

  /// Ends the bufferevent on its loop, and then its descriptor, if there is one. Any thread, no lock held.
  func finish(_ ending: SocketSides.Ending, _ fd: Int32) {
    let loop = loop
    loop.perform { self.finish(ending, fd, on: loop) }
  }

  private func finish(_ ending: SocketSides.Ending, _ fd: Int32, on loop: EventLoop) {
    loop.unregister(self)
    if ending == .abort, isAdopted, fd >= 0 { SystemCalls.resetOnClose(fd) }
    letGo(isOwned: ending != .giveBack, on: loop)
    if !isAdopted, fd >= 0 { SystemCalls.close(fd, ending) }
    listener = nil
    keepAlive = nil
  }

  /// Frees the bufferevent; one that a host keeps is handed back, with what nobody has read.
  private func letGo(isOwned: Bool, on loop: EventLoop) {
    if let adopted = unsafe adopted, isOwned, !loop.hasEnded {
      // The streams ended before the loop got to it.
      bufferevent = unsafe Bufferevent(adopting: adopted, on: loop.handle, target: BuffereventTarget())
    }
    unsafe adopted = nil
    guard let bufferevent else { return }
    self.bufferevent = nil
    if isOwned || !isAdopted {
      bufferevent.disable([.readable, .writable])
      bufferevent.free()
    } else {
      bufferevent.returnInput(from: &inbox)
      _ = unsafe bufferevent.letGo()
    }
  }

  /// Forwards the bufferevent's callbacks.
  ///
  /// `@unchecked Sendable`: nothing changes after `init`.
  private final class Target: BuffereventTarget, @unchecked Sendable {
    // The transport frees its bufferevent, and with it this target, before it goes.
    private unowned let transport: BuffereventTransport

    init(_ transport: BuffereventTransport) {
      self.transport = transport
      super.init()
    }

    override func bytesArrived() { transport.bytesArrived() }
    override func outputDrained() { transport.outputDrained() }
    override func eventOccurred(_ what: BuffereventEvents, errno: Int32) {
      transport.eventOccurred(what, errno)
    }
  }
}
