// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Reads that bring whole frames. What a frame is and which read it answers is decided in Logic/FrameQueue.swift; here its
// steps are taken, on the base's thread.

/// Reads frames from a ``ReadStream``: lines, pieces of a known length, what stands before a delimiter.
///
/// Reads are queued, also before the stream is opened, with framings of any kind mixed, and answered in order. Each is
/// answered once: by ``FramedReadEvent/frame(_:tag:)``, or by ``FramedReadEvent/failed(_:tag:)``, which answers all
/// reads that are queued behind it too. While no read is queued nothing is taken from the socket, which slows the peer
/// down.
///
/// The reader is the stream's client and schedules it on the base; nobody else reads from it. The stream, which its
/// base keeps from `open` on, keeps the reader until one of them is closed or the stream has ended; the reader does
/// not keep the stream.
///
/// Any thread may call any function.
///
/// `@unchecked Sendable`: `lock` guards the variables, but for `alarm`, which the base's thread alone touches.
public final class FramedReader: ByteHolder, @unchecked Sendable {
  private enum Action {
    case tell(FramedReadEvent)
    /// The time limit has passed: as `tell`, with an answer.
    case ask(FramedReadEvent)
    case read(atMost: Int)
    /// Nothing is to be read; but what was announced may be the end, which is told even so.
    case lookForEnd
    case end(StreamError?, FramedTurn<FramedReader, FramedReadEvent>.Ending)
    case rest(until: UInt64?)
  }

  private let base: EventBase
  private let lock = Lock()
  private weak var stream: ReadStream?
  private var turn: FramedTurn<FramedReader, FramedReadEvent>
  private var queue: FrameQueue
  /// The stream has announced bytes, or its end, and was not read since.
  private var isAnnounced = false
  private var alarm = DeadlineAlarm()

  /// Becomes the client of `stream` and schedules it on `base`. The owner opens it, before or after.
  /// - Parameters:
  ///   - stream: Nobody else reads from it or sets its client from now on. What was not read of it before, is read.
  ///   - base: Where `handler` is called.
  ///   - reportsPartial: Whether ``FramedReadEvent/partial(count:total:tag:)`` is told.
  ///   - handler: Called on the thread of `base`, one call at a time, never inside one of the owner's own calls. It is
  ///     let go of by ``close()`` and after ``FramedReadEvent/ended(_:)``.
  public init(
    _ stream: ReadStream, on base: EventBase, reportsPartial: Bool = false,
    handler: sending @escaping (_ reader: FramedReader, _ event: FramedReadEvent) -> Void
  ) {
    self.base = base
    self.stream = stream
    turn = FramedTurn(handler)
    queue = FrameQueue(reportsPartial: reportsPartial)
    stream.reader.holdBytes(self)
    stream.setClient(.all) { [self] stream, event in happened(event, to: stream) }
    stream.schedule(on: base)
    lock.lock()
    found(stream.status, stream)
    requestPass()
  }

  deinit { alarm.cancel() }

  /// What may have been told to somebody else before. The lock is held.
  private func found(_ status: StreamStatus, _ stream: ReadStream) {
    turn.isOpen = turn.isOpen || (status != .notOpen && status != .opening)
    switch status {
    case .atEnd: queue.streamEnded()
    case .error, .closed: queue.streamFailed(stream.error ?? .misuse(.notOpen, "read"))
    case .notOpen, .opening, .open, .reading, .writing: break
    }
  }

  // MARK: - Reads

  /// Queues a read. After ``close()`` or ``FramedReadEvent/ended(_:)``, which is the last event, it is not answered.
  /// - Parameters:
  ///   - framing: What it is to bring.
  ///   - target: Bytes that the frame is to be appended to; the answer then begins with them.
  ///   - timeout: How long it may wait from when it is the first one and the stream is open; more than 0. Bytes that
  ///     are there when the time is over still count. `nil` for no limit.
  ///   - tag: What its answer is told with.
  public func read(
    _ framing: Framing, appendingTo target: consuming [UInt8] = [], timeout: Duration? = nil, tag: Int = 0
  ) {
    lock.lock()
    if turn.handler != nil {
      queue.enqueue(framing, timeout: timeout?.clampedNanoseconds, appendingTo: target, tag: tag)
    }
    requestPass()
  }

  /// Gives the first read `time` more, from now on. Only during the call that tells
  /// ``FramedReadEvent/timeLimitPassed(tag:elapsed:count:)``; at any other time it does nothing.
  public func extendTime(by time: Duration) { lock.withLock { turn.answer(time) } }

  // MARK: - Bytes

  /// How many bytes have come that no frame has taken. What waits in the kernel does not count.
  public var bufferedByteCount: Int { lock.withLock { queue.byteCount } }

  /// A copy of the bytes that have come and that no frame has taken.
  public var bufferedBytes: [UInt8] { lock.withLock { queue.unread } }

  /// Takes the bytes that have come and that no frame has taken.
  public func takeBuffered() -> [UInt8] {
    lock.lock()
    let bytes = queue.takeUnread()
    requestPass()
    return bytes
  }

  /// Puts `bytes` back in front of those that have come: the next frame begins with them.
  public func pushBack(_ bytes: [UInt8]) {
    lock.lock()
    queue.pushedBack(bytes)
    requestPass()
  }

  // MARK: - The end

  /// Closes the stream once every queued read has been answered; ``FramedReadEvent/ended(_:)`` is told then, with `nil`.
  public func closeAfterReads() { closeAfterReads(nil) }

  func closeAfterReads(_ whenClosed: (@Sendable () -> Void)?) {
    lock.lock()
    if turn.closeAfterWork(whenClosed) { return requestPass() }
    let stream = stream
    lock.unlock()
    stream?.close()
    whenClosed?()
  }

  /// Closes the stream. Reads that are queued are not answered, and nothing is told any more.
  ///
  /// From another thread than the base's, a call that has begun may finish.
  public func close() {
    lock.lock()
    let (dropped, stream) = (turn.end(), stream)
    lock.unlock()
    stream?.close()
    withExtendedLifetime(dropped) {}
  }

  // MARK: - Steps

  /// Has the base's thread take the next steps, unless it does already. The lock is held; gives it back.
  private func requestPass() {
    let isNeeded = turn.request()
    lock.unlock()
    if isNeeded { base.execute { [self] in pass() } }
  }

  private func happened(_ event: StreamEvent, to stream: ReadStream) {
    lock.lock()
    turn.isOpen = true
    switch event {
    case .endEncountered: queue.streamEnded()
    case .errorOccurred: queue.streamFailed(stream.error ?? .misuse(.notOpen, "read"))
    case .hasBytesAvailable: isAnnounced = true
    case .openCompleted, .canAcceptBytes: break
    }
    let handler = turn.handler
    lock.unlock()
    if event == .openCompleted { handler?.call(self, .opened) }
    pass()
  }

  /// Answers reads as far as that goes. At most one read of the stream for each announcement, so that other streams have
  /// their turn; it announces what is left of itself.
  private func pass() {
    guard lock.withLock({ turn.begin() }) else { return }
    var (hasReceived, hasLooked, hasAsked, told) = (false, false, false, 0)
    while true {
      let now = SystemCalls.monotonicNow()
      lock.lock()
      let action = nextAction(hasLooked: hasLooked, mayAsk: !hasReceived && !hasAsked, now: now)
      let handler = turn.handler
      lock.unlock()
      switch action {
      case .tell(let event):
        handler?.call(self, event)
        // An owner who always goes on must not keep the thread for itself.
        told += 1
        if told == FramedTurn<FramedReader, FramedReadEvent>.longest { return goOnLater() }
      case .ask(let event):
        hasAsked = true
        handler?.call(self, event)
        lock.withLock { answered() }
      case .read(let count): hasReceived = receive(atMost: count)
      case .lookForEnd:
        hasLooked = true
        lookForEnd()
      case .end(let error, let ending): return end(error, ending)
      case .rest(let deadline):
        return alarm.set(deadline, now: now, on: base) { [weak self] in self?.alarmed() }
      }
    }
  }

  /// The lock is held.
  private func nextAction(hasLooked: Bool, mayAsk: Bool, now: UInt64) -> Action {
    guard turn.handler != nil else { return rest(until: nil) }
    switch queue.next(now: now) {
    case .frame(let bytes, let tag): return .tell(.frame(bytes, tag: tag))
    case .partial(let count, let total, let tag): return .tell(.partial(count: count, total: total, tag: tag))
    case .failed(let error, let tag): return .tell(.failed(error, tag: tag))
    case .ended(let error): return .end(error, turn.end())
    case .idle:
      if turn.closesAfterWork { return .end(nil, turn.end()) }
      return isAnnounced && !hasLooked ? .lookForEnd : rest(until: nil)
    case .read(let count):
      guard isAnnounced else { return wait(mayAsk: mayAsk, now: now) }
      isAnnounced = false
      return .read(atMost: count)
    }
  }

  /// The first read needs bytes, and nothing says that there are any. The lock is held.
  private func wait(mayAsk: Bool, now: UInt64) -> Action {
    switch queue.wait(now: now) {
    case .until(let deadline): return rest(until: deadline)
    // Bytes that are there win over the limit, and where some were there may be more. And asked once a pass: an owner whose
    // answer is over before it returns would keep the thread for itself.
    case .timeLimitPassed where !mayAsk: return rest(until: now)
    case .timeLimitPassed(let tag, let elapsed, let count):
      turn.ask()
      return .ask(.timeLimitPassed(tag: tag, elapsed: Duration(clamping: elapsed), count: count))
    }
  }

  /// The lock is held.
  private func rest(until deadline: UInt64?) -> Action {
    turn.rest()
    return .rest(until: deadline)
  }

  /// What the owner said about the time limit. The lock is held.
  private func answered() {
    if let time = turn.takeAnswer() {
      queue.timeExtended(by: time, now: SystemCalls.monotonicNow())
    } else {
      queue.givenUp(.posix(Errno.timedOut, "read"))
    }
  }

  /// - Returns: Whether there were any bytes.
  private func receive(atMost limit: Int) -> Bool {
    let stream = lock.withLock { self.stream }
    let count = stream?.withAvailableBytes { bytes in
      let taken = min(bytes.byteCount, limit)
      unsafe bytes.withUnsafeBytes { memory in
        let arrived = unsafe UnsafeRawBufferPointer(rebasing: memory[..<taken])
        lock.withLock { unsafe queue.bytesArrived(arrived) }
      }
      return taken
    }
    return (count ?? 0) > 0
  }

  /// Bytes stay where they are, and stay announced; an end or a failure is told by the stream.
  private func lookForEnd() {
    let hasBytes = lock.withLock { stream }?.findBytes() ?? false
    if !hasBytes { lock.withLock { isAnnounced = false } }
  }

  private func goOnLater() {
    lock.lock()
    turn.rest()
    requestPass()
  }

  private func alarmed() {
    alarm.passed()
    lock.withLock { isAnnounced = true }
    pass()
  }

  /// The last step: nothing is told afterwards.
  private func end(
    _ error: StreamError?, _ ending: FramedTurn<FramedReader, FramedReadEvent>.Ending
  ) {
    alarm.cancel()
    let (stream, isClosing) = lock.withLock { (self.stream, turn.closesAfterWork) }
    if isClosing { stream?.close() }
    ending.handler?.call(self, .ended(error))
    ending.whenClosed?()
  }
}
