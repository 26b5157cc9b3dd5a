// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Writes that are told of when they are done. Which one that is, is decided in Logic/WriteQueue.swift; here bytes are sent,
// on whatever thread has them first, and events told, on the base's.

/// Writes whole pieces to a ``WriteStream``, whatever their size, and tells when each is with the kernel.
///
/// Writes are queued, also before the stream is opened, and sent in the order of the calls, at once if nothing is
/// queued before them. Each is answered once: by ``FramedWriteEvent/written(tag:)`` or
/// ``FramedWriteEvent/failed(_:tag:count:)``.
///
/// The writer is the stream's client and schedules it on the base; nobody else writes to it. The stream, which its
/// base keeps from `open` on, keeps the writer until one of them is closed or the stream has failed; the writer does
/// not keep the stream. Closing the stream itself drops what is queued here: see ``closeAfterWrites()``.
///
/// Any thread may call any function.
///
/// `@unchecked Sendable`: `lock` guards the variables, but for `alarm`, which the base's thread alone touches.
public final class FramedWriter: ByteSupplier, @unchecked Sendable {
  private enum Action {
    case tell(FramedWriteEvent)
    /// The time limit has passed: as `tell`, with an answer.
    case ask(FramedWriteEvent)
    case end(StreamError?, FramedTurn<FramedWriter, FramedWriteEvent>.Ending)
    case rest(until: UInt64?)
  }

  private let base: EventBase
  private let lock = Lock()
  private weak var stream: WriteStream?
  private var turn: FramedTurn<FramedWriter, FramedWriteEvent>
  private var queue: WriteQueue
  /// Some thread is sending.
  private var isSending = false
  /// Told when it has done so.
  private let sendingEnded = Condition()
  /// The kernel took less than it was offered, and has not told of room since.
  private var isBlocked = false
  /// The kernel has told of room since the last write began.
  private var sawRoom = false
  /// The base's thread is to take steps that no event will have it take.
  private var missedPass = false
  /// Why the stream has failed.
  private var failure: StreamError?
  private var alarm = DeadlineAlarm()

  /// Becomes the client of `stream` and schedules it on `base`. The owner opens it, before or after.
  /// - Parameters:
  ///   - stream: Nobody else writes to it or sets its client from now on. Its ``StreamProperty/outputLimit`` becomes 0:
  ///     the queue is here.
  ///   - base: Where `handler` is called.
  ///   - queueLimit: How many bytes may be queued, 0 or more. A write that does not fit fails, before those in front of
  ///     it are answered, and nothing of it is sent; what is queued before and behind it is.
  ///   - reportsPartial: Whether ``FramedWriteEvent/partial(count:total:tag:)`` is told.
  ///   - handler: Called on the thread of `base`, one call at a time, never inside one of the owner's own calls. It is
  ///     let go of by ``close()`` and after ``FramedWriteEvent/ended(_:)``.
  public init(
    _ stream: WriteStream, on base: EventBase, queueLimit: Int = .max, reportsPartial: Bool = false,
    handler: sending @escaping (_ writer: FramedWriter, _ event: FramedWriteEvent) -> Void = { _, _ in }
  ) {
    precondition(queueLimit >= 0, "a writer's queue limit is negative")
    self.base = base
    self.stream = stream
    turn = FramedTurn(handler)
    queue = WriteQueue(limit: queueLimit, reportsPartial: reportsPartial)
    stream.writer.stopQueueing()
    stream.writer.takeBytes(of: self)
    stream.setClient(.all) { [self] stream, event in happened(event, to: stream) }
    stream.schedule(on: base)
    lock.lock()
    found(stream.status, stream)
    requestPass()
  }

  deinit { alarm.cancel() }

  /// What may have been told to somebody else before. The lock is held.
  private func found(_ status: StreamStatus, _ stream: WriteStream) {
    turn.isOpen = turn.isOpen || (status != .notOpen && status != .opening)
    if status == .error || status == .closed { failed(stream.error) }
  }

  // MARK: - Writes

  /// Queues a write. After ``close()`` or ``FramedWriteEvent/ended(_:)``, which is the last event, it is not answered.
  /// - Parameters:
  ///   - bytes: Any number of them; none are written when those before them are.
  ///   - timeout: How long the kernel may take nothing of it while it is the first one; more than 0. `nil` for no limit.
  ///   - tag: What its answer is told with.
  public func write(_ bytes: [UInt8], timeout: Duration? = nil, tag: Int = 0) {
    write(gathering: [bytes], timeout: timeout, tag: tag)
  }

  /// Queues one write of several pieces; large ones are not copied together.
  /// - Parameters:
  ///   - pieces: The bytes, in order.
  ///   - timeout: As for ``write(_:timeout:tag:)``.
  ///   - tag: What its answer is told with.
  public func write(gathering pieces: [[UInt8]], timeout: Duration? = nil, tag: Int = 0) {
    lock.lock()
    guard turn.handler != nil else { return lock.unlock() }
    queue.enqueue(pieces, timeout: timeout?.clampedNanoseconds, tag: tag)
    // Sent at once, and then told after the event of room that follows; if nothing is sent, there is no such event.
    var needsPass = queue.hasAnswer
    if turn.isOpen, !isSending, let stream {
      send(stream)
      needsPass = needsPass || missedPass
    }
    needsPass ? requestPass() : lock.unlock()
  }

  /// Queues one write of a frame with its length before it.
  /// - Parameters:
  ///   - bytes: The frame.
  ///   - prefix: How its length is written.
  ///   - timeout: As for ``write(_:timeout:tag:)``.
  ///   - tag: What its answer is told with.
  /// - Throws: ``StreamError/Frame/tooLong`` if the length does not fit into its width.
  public func write(
    _ bytes: [UInt8], prefixedBy prefix: LengthPrefix, timeout: Duration? = nil, tag: Int = 0
  ) throws(StreamError) {
    guard let length = prefix.encode(bytes.count) else { throw .frame(.tooLong, "write") }
    write(gathering: [length, bytes], timeout: timeout, tag: tag)
  }

  /// How many bytes are queued: the kernel has not taken them.
  public var queuedByteCount: Int { lock.withLock { queue.byteCount } }

  /// Gives the first write `time` more, from now on. Only during the call that tells
  /// ``FramedWriteEvent/timeLimitPassed(tag:elapsed:count:)``; at any other time it does nothing.
  public func extendTime(by time: Duration) { lock.withLock { turn.answer(time) } }

  // MARK: - The end

  /// Closes the stream, which says the end to the peer, once every queued write has been answered;
  /// ``FramedWriteEvent/ended(_:)`` is told then, with `nil`. Writes that are queued until then are sent, too. A peer that
  /// does not read holds it off for ever, unless the writes have time limits.
  public func closeAfterWrites() { closeAfterWrites(nil) }

  func closeAfterWrites(_ whenClosed: (@Sendable () -> Void)?) {
    lock.lock()
    if turn.closeAfterWork(whenClosed) { return requestPass() }
    let stream = stream
    lock.unlock()
    stream?.close()
    whenClosed?()
  }

  /// Closes the stream. What is queued is dropped and not answered, and nothing is told any more.
  ///
  /// From another thread than the base's, a call that has begun may finish.
  public func close() {
    lock.lock()
    let (dropped, stream) = (turn.end(), stream)
    queue.givenUp(.misuse(.notOpen, "write"))
    lock.unlock()
    stream?.close()
    withExtendedLifetime(dropped) {}
  }

  // MARK: - Sending

  /// Sends what is queued, unless there is no room. The lock is held, but given back during each call of the stream; no
  /// other thread sends meanwhile.
  private func send(_ stream: WriteStream) {
    isSending = true
    while !isBlocked, let bytes = queue.nextBytes(now: SystemCalls.monotonicNow()) {
      sawRoom = false
      lock.unlock()
      let result = Result { () throws(StreamError) in try unsafe stream.write(bytes.span.bytes) }
      lock.lock()
      switch result {
      case .success(let count):
        queue.sent(count ?? 0, now: SystemCalls.monotonicNow())
        isBlocked = (count ?? 0) < bytes.count && !sawRoom
        // No event tells the base's thread of the limit; nor, if the last byte that there was room for in memory was taken,
        // of the write, until the peer reads.
        let isHeldBack = isBlocked && queue.hasTimeLimit || queue.hasAnswer && stream.writer.isFullInMemory
        missedPass = missedPass || isHeldBack
      case .failure(let error):
        queue.givenUp(error)
        missedPass = true
      }
    }
    isSending = false
    sendingEnded.broadcast()
  }

  /// Before the connection is secured: what is queued here was written before that.
  func handOver() {
    lock.lock()
    // In a call of the stream, which does not wait.
    while isSending { sendingEnded.wait(lock) }
    isSending = true
    while let stream, let bytes = queue.nextBytes(now: SystemCalls.monotonicNow()) {
      lock.unlock()
      let result = Result { () throws(StreamError) in
        try unsafe stream.write(moving: StreamBuffer(copying: bytes.span.bytes))
      }
      lock.lock()
      switch result {
      case .success: queue.sent(bytes.count, now: SystemCalls.monotonicNow())
      case .failure(let error): queue.givenUp(error)
      }
    }
    isSending = false
    sendingEnded.broadcast()
    requestPass()
  }

  /// Has the base's thread take the next steps. The lock is held; gives it back.
  private func requestPass() {
    let isNeeded = turn.request()
    lock.unlock()
    if isNeeded { base.execute { [self] in pass() } }
  }

  // MARK: - Steps

  private func happened(_ event: StreamEvent, to stream: WriteStream) {
    lock.lock()
    turn.isOpen = true
    switch event {
    case .canAcceptBytes: (sawRoom, isBlocked) = (true, false)
    case .errorOccurred: failed(stream.error)
    case .openCompleted, .hasBytesAvailable, .endEncountered: break
    }
    let handler = turn.handler
    lock.unlock()
    if event == .openCompleted { handler?.call(self, .opened) }
    pass()
  }

  /// The lock is held.
  private func failed(_ error: StreamError?) {
    let error = error ?? .misuse(.notOpen, "write")
    failure = error
    queue.givenUp(error)
    // A write that comes now is to try, and fail: no room is coming any more.
    (sawRoom, isBlocked) = (true, false)
  }

  /// Sends what is queued and tells what is done. An event of room, which follows each write, gets here.
  private func pass() {
    guard lock.withLock({ turn.begin() }) else { return }
    var (told, hasAsked) = (0, false)
    while true {
      let now = SystemCalls.monotonicNow()
      lock.lock()
      if !isSending, let stream { send(stream) }
      // What another thread is sending just now is told when it has done so.
      missedPass = isSending
      let action = nextAction(hasAsked: hasAsked, now: now)
      let handler = turn.handler
      lock.unlock()
      switch action {
      case .tell(let event):
        handler?.call(self, event)
        // An owner who always goes on must not keep the thread for itself.
        told += 1
        if told == FramedTurn<FramedWriter, FramedWriteEvent>.longest { return goOnLater() }
      case .ask(let event):
        hasAsked = true
        handler?.call(self, event)
        lock.withLock { answered() }
      case .end(let error, let ending): return end(error, ending)
      case .rest(let deadline):
        return alarm.set(deadline, now: now, on: base) { [weak self] in self?.alarmed() }
      }
    }
  }

  /// The lock is held.
  private func nextAction(hasAsked: Bool, now: UInt64) -> Action {
    guard turn.handler != nil else { return rest(until: nil) }
    switch queue.next(now: now) {
    case .written(let tag): return .tell(.written(tag: tag))
    case .partial(let count, let total, let tag): return .tell(.partial(count: count, total: total, tag: tag))
    case .failed(let error, let tag, let count): return .tell(.failed(error, tag: tag, count: count))
    // What another thread is sending just now may be progress, and it is told when it has done so. Otherwise asked once a
    // pass: an owner whose answer is over before it returns would keep the thread for itself.
    case .timeLimitPassed where isSending: return rest(until: nil)
    case .timeLimitPassed where hasAsked: return rest(until: now)
    case .timeLimitPassed(let tag, let elapsed, let count):
      turn.ask()
      return .ask(.timeLimitPassed(tag: tag, elapsed: Duration(clamping: elapsed), count: count))
    case .wait(let deadline):
      guard queue.writeCount == 0 else { return rest(until: deadline) }
      if failure != nil || turn.closesAfterWork { return .end(failure, turn.end()) }
      return rest(until: nil)
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
      queue.givenUp(.posix(Errno.timedOut, "write"))
      // The next write tries for itself, and so has its own time.
      isBlocked = false
    }
  }

  private func goOnLater() {
    lock.lock()
    turn.rest()
    requestPass()
  }

  private func alarmed() {
    alarm.passed()
    pass()
  }

  /// The last step: nothing is told afterwards.
  private func end(
    _ error: StreamError?, _ ending: FramedTurn<FramedWriter, FramedWriteEvent>.Ending
  ) {
    alarm.cancel()
    let (stream, isClosing) = lock.withLock { (self.stream, turn.closesAfterWork) }
    if isClosing { stream?.close() }
    ending.handler?.call(self, .ended(error))
    ending.whenClosed?()
  }
}
