// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the two halves of a pair share: the lock, the transport, the way it gets connected, the first failure, the
// threads that wait, and the end of the connection.

/// The middle of a pair.
///
/// `@unchecked Sendable`: every stored property but the lock and the transport's identity is guarded by `lock`.
final class Endpoint: TransportListener, @unchecked Sendable {
  private enum Phase { case idle, connecting, connected, failed }

  let lock = PairLock()
  let closesByDefault: Bool
  private var phase = Phase.idle
  /// One half calls its client, and afterwards serves the other half, if that became due meanwhile.
  var isServing = false
  var isSiblingDue = false
  /// Time is limited in some way.
  private(set) var isTimed = false
  /// Both halves have their events on one loop.
  private(set) var areTogether = false
  var sides: SocketSides
  private var deferredEnding: SocketSides.Ending?
  /// Both halves are done, and the connection has been let go of.
  private var isOver = false
  private(set) var transport: any StreamTransport
  /// The transport, if it is the direct one.
  private(set) var direct: Uncounted<SocketTransport>?
  /// The transport, if it is the layer that secures another.
  private(set) var secured: SecuredTransport?
  private var firstFailure: Failure?
  /// What was set by the owner; `nil` as long as everything has its default.
  private(set) var limits: StreamLimits?
  private let origin: ConnectionOrigin
  var bytesRead: UInt64 = 0
  var bytesWritten: UInt64 = 0
  // The halves hold the endpoint; it forgets them when they leave, which every half does at the latest when its
  // stream is dropped.
  private(set) var reader: ReadHalf?
  private(set) var writer: WriteHalf?
  /// Ends a handshake that takes too long, or taking the security off.
  var securityTimer: EventTimer?
  /// `nil` until the first thread waits, or somebody wants to hear of the end.
  private var waiters: Waiters?

  /// An error in memory of its own: few pairs have one.
  private final class Failure: Sendable {
    let error: StreamError
    init(_ error: StreamError) { self.error = error }
  }

  init(
    _ transport: any StreamTransport, ownsDescriptor: Bool, from origin: ConnectionOrigin = ConnectionOrigin()
  ) {
    self.transport = transport
    direct = Self.direct(transport)
    self.origin = origin
    closesByDefault = ownsDescriptor
    sides = SocketSides(ownsDescriptor: ownsDescriptor)
    transport.listen(self)
  }

  private static func direct(_ transport: any StreamTransport) -> Uncounted<SocketTransport>? {
    // Swift 6.3's optimiser crashes on the same with `map`.
    if let socket = transport as? SocketTransport { Uncounted(socket) } else { nil }
  }

  /// Puts a layer around the transport, or takes it off.
  func replaceTransport(_ transport: any StreamTransport) {
    self.transport = transport
    direct = Self.direct(transport)
    secured = transport as? SecuredTransport
  }

  /// Makes the two halves. Called once, before anything else.
  func makeHalves() -> (ReadHalf, WriteHalf) {
    let halves = (ReadHalf(self), WriteHalf(self))
    (reader, writer) = halves
    return halves
  }

  /// Where to connect to, and how; `nil` for what exists already.
  var plan: ConnectPlan? { origin.plan }

  /// The first hard failure; what both halves report.
  var failure: StreamError? { firstFailure?.error }
  var hasFailed: Bool { firstFailure != nil }

  /// Changes the limits, which are made with their defaults if none was set yet.
  func changeLimits(_ change: (StreamLimits) -> Void) {
    let limits = limits ?? StreamLimits()
    self.limits = limits
    change(limits)
    isTimed = limits.isTimed(.reading) || limits.isTimed(.writing)
  }

  var isConnected: Bool { phase == .connected }
  var isConnecting: Bool { phase == .connecting }
  var isIdle: Bool { phase == .idle }

  /// The other half, unless it has left.
  func sibling(of half: StreamHalf) -> StreamHalf? { half === reader ? writer : reader }

  /// A half was put on a loop, taken off it, or scheduled elsewhere.
  func seatsChanged() {
    areTogether =
      reader?.isSeated == true && writer?.isSeated == true && reader?.installed === writer?.installed
  }

  private func eachHalf(_ body: (StreamHalf) -> Void) {
    if let reader { body(reader) }
    if let writer { body(writer) }
  }

  // MARK: - Opening. The lock is held.

  /// A half was opened: joins it to the connection, whatever its stage.
  /// - Returns: What to start once the lock is free.
  func open(_ half: StreamHalf) -> Connector? {
    switch phase {
    case .connected where !hasFailed: half.connectionOpened()
    case .connected, .failed: half.connectionFailed()
    case .connecting: break
    case .idle:
      switch transport.open() {
      case .opened:
        phase = .connected
        half.connectionOpened()
        beginSecuring()
      case .failed(let error): fail(error, by: half)
      case .pending: phase = .connecting
      case .toConnect:
        if let misuse = plan?.misuse {
          fail(misuse, by: half)
          return nil
        }
        phase = .connecting
        return plan?.makeConnector(for: self)
      }
    }
    return nil
  }

  /// A half was closed before the outcome was known. With nobody left who waits for it, connecting stops.
  /// - Returns: What to cancel once the lock is free.
  func closedWhileOpening() -> Connector? {
    var isAwaited = transport.queuedCount > 0
    eachHalf { isAwaited = isAwaited || $0.lifecycle.status == .opening }
    guard phase == .connecting, !isAwaited else { return nil }
    phase = .idle
    return plan?.giveUpConnector()
  }

  /// An address was tried in vain. Any thread.
  func attemptFailed(_ attempt: ConnectAttempt) { lock.withLock { plan?.attempts.append(attempt) } }

  /// Connecting has ended; `round` tells which connecting. Any thread.
  func connectorFinished(_ outcome: Connector.Outcome, round: Int) {
    lock.lock()
    guard phase == .connecting, round == plan?.round else {
      lock.unlock()
      if case .connected(let fd, _) = outcome { SystemCalls.close(fd) }  // closed meanwhile
      return
    }
    plan?.connectorIsDone()
    switch outcome {
    case .connected(let fd, _):
      transport.attach(fd, on: reader?.home ?? writer?.home)
      connectionOpened()
    case .failed(let error):
      plan?.attempts = error.attempts  // those that the deadline ended included
      fail(error, by: nil)
    }
    lock.unlock()
  }

  /// The connection is up: tells the halves that wait for it. The lock is held; any thread.
  func connectionOpened() {
    phase = .connected
    if let limits, limits.idle.isSet { limits.idle.progressed(now: SystemCalls.monotonicNow()) }
    eachHalf { half in
      if half.lifecycle.status == .opening { half.connectionOpened() }
    }
    // Opened first: both sides can have failed to agree when this returns.
    beginSecuring()
    eachHalf { $0.transportSignalled() }
  }

  // MARK: - What the transport tells. The lock is held.

  func lockPair() { lock.lock() }
  func unlockPair() { lock.unlock() }

  var ownsDescriptor: Bool { sides.ownsDescriptor }

  func arrivalsSignalled() {
    reader?.transportSignalled()
    if secured?.isMovedByArrivals == true { writer?.transportSignalled() }
  }

  func roomSignalled() { writer?.transportSignalled() }

  func openingFinished(_ error: StreamError?) {
    guard phase == .connecting else { return }
    if let error { fail(error, by: nil) } else { connectionOpened() }
  }

  // MARK: - Failure. The lock is held.

  /// The transport failed in what `half` did.
  func fail(_ code: Int32, _ operation: String, by half: StreamHalf?) {
    fail(transport.error(code, operation), by: half)
  }

  /// The connection failed; `half` found out. The first failure counts, for both halves.
  func fail(_ error: StreamError, by half: StreamHalf?) {
    if !hasFailed { firstFailure = Failure(error) }
    if phase != .connected { phase = .failed }
    sides.broke()
    half?.connectionFailed()
    eachHalf { other in
      guard other !== half else { return }
      let isLive = other.lifecycle.status == .open || other.lifecycle.status == .opening
      if isLive || other.isGone {
        other.connectionFailed()
        other.transportSignalled()
      }
    }
    signalWaiters()
  }

  // MARK: - The end

  /// A half is done. The lock is held.
  /// - Returns: How the connection ends, if this was the last half: give it to ``end(_:)`` with the lock free.
  func left(_ direction: StreamLifecycle.Direction) -> Farewell? {
    switch direction {
    case .reading:
      reader = nil
      // It may have been all that a write half was waiting for.
      if writer?.isGone == true { writer?.transportSignalled() }
    case .writing: writer = nil
    }
    guard let ending = sides.left(direction) else { return nil }
    // Bytes may have been waiting for a connection that is not made yet.
    if phase == .connecting { phase = .idle }
    securingEnded()
    guard let waiters else { return transport.end(ending) }
    waiters.dropSpare()
    if waiters.isEmpty { return transport.end(ending) }
    deferredEnding = ending  // a thread still waits on the descriptor
    return nil
  }

  /// Lets go of the connection, and tells those who want to know. Called once, no lock held.
  func end(_ farewell: Farewell) {
    farewell.perform()
    origin.keeper?.pairEnded(self)
    let (connector, told) = lock.withLock {
      isOver = true
      return (plan?.giveUpConnector(), waiters?.takeEndings() ?? [])
    }
    connector?.cancel()
    for body in told { body() }
  }

  /// Calls `body` when the connection has been let go of; at once if it has.
  func whenOver(_ body: @escaping @Sendable () -> Void) {
    let isOver = lock.withLock {
      if !self.isOver {
        let waiters = self.waiters ?? Waiters()
        self.waiters = waiters
        waiters.awaitEnd(body)
      }
      return self.isOver
    }
    if isOver { body() }
  }

  // MARK: - Waiting threads

  /// Something changed that a waiting thread may want to see. The lock is held.
  @inline(__always)
  func signalWaiters() {
    if waiters != nil { wakeWaiters() }
  }

  @inline(never)
  private func wakeWaiters() { waiters?.signal() }

  /// Blocks until `isReady` answers true or `timeout` passes. Takes the lock and gives it back; `isReady` is asked with
  /// the lock held. `readiness` is what to poll the descriptor for.
  func wait(for readiness: SystemCalls.Readiness, timeout: Duration?, until isReady: () -> Bool) -> Bool {
    let limit = timeout.map { SystemCalls.monotonicNow() &+ $0.clampedNanoseconds }
    lock.lock()
    let waiters = self.waiters ?? Waiters()
    self.waiters = waiters
    var isTimely = true
    while true {
      // On a base that nobody runs, what is queued would wait for ever, and the peer's answer with it.
      let isStranded = writer?.isStranded ?? false
      if isStranded { writer?.drain() }
      if isReady() { break }
      var rest: Duration?
      if let limit {
        let now = SystemCalls.monotonicNow()
        guard now < limit else {
          isTimely = false
          break
        }
        rest = .nanoseconds(Int64(clamping: limit - now))
      }
      var descriptor = phase == .connected && transport.usesDescriptor ? transport.descriptor : nil
      var wanted = isStranded ? [readiness, .writable] : readiness
      if let secured {
        if secured.awaitsArrivals { wanted = .readable }
        if secured.awaitsOwner {
          // The answer is signalled; the descriptor may be ready all the time.
          wanted = .writable
          if !secured.awaitsRoom { descriptor = nil }
        }
      }
      let waiter = waiters.enter()
      lock.unlock()
      waiter.wait(descriptor, for: wanted, timeout: rest)
      lock.lock()
      waiters.leave(waiter)
    }
    var farewell: Farewell?
    if waiters.isEmpty, let ending = deferredEnding {
      deferredEnding = nil
      waiters.dropSpare()
      farewell = transport.end(ending)
    }
    lock.unlock()
    if let farewell { end(farewell) }
    return isTimely
  }
}
