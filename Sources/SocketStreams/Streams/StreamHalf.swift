// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What both halves of a pair are: a lifecycle, a client, a home base, and the place where their events are installed.
// Everything here is guarded by the endpoint's lock; a function says so if it takes or gives back the lock.

/// One half of a pair, behind a ``ReadStream`` or a ``WriteStream``.
///
/// `@unchecked Sendable`: every stored property is guarded by `endpoint.lock`.
class StreamHalf: LoopItem, @unchecked Sendable {
  final let endpoint: Endpoint
  /// Read and written as a whole: were an access to last through a call, the runtime would check each access to it,
  /// anywhere, for overlaps, at some 200 instructions.
  final var lifecycle: StreamLifecycle {
    get { storedLifecycle }
    set { storedLifecycle = newValue }
  }
  /// The base that the stream is scheduled on.
  final var home: EventBase? { didSet { seatChanged() } }
  /// The loop that holds this half's events and a reference to it. Set and cleared on that loop's thread only.
  final private(set) var installed: EventLoop? { didSet { seatChanged() } }
  final private(set) var isInstalled = false
  /// The half's events are on the loop of its home.
  final private(set) var isSeated = false
  final var client: StreamClient?
  /// The registration that was replaced while its client was being called: it ends after that call.
  final var retired: StreamClient?
  /// The stream itself, held while its base keeps it alive.
  final var keptStream: SocketStream?
  /// The stream was closed after being opened, or dropped: this half only has to finish.
  final var isGone = false

  private var storedLifecycle: StreamLifecycle
  final private(set) var watch = Watch.off
  final var isDelivering = false
  private var isTracked = false
  /// The loop that was asked to service this half and has not done so yet.
  final var wokenLoop: EventLoop?
  final var hasNews = false
  private var hasLeft = false

  init(_ direction: StreamLifecycle.Direction, _ endpoint: Endpoint) {
    self.endpoint = endpoint
    storedLifecycle = StreamLifecycle(direction)
  }

  /// No progress in this direction for too long ends the connection.
  final var deadline: ProgressDeadline {
    get { endpoint.limits?[lifecycle.direction] ?? ProgressDeadline() }
    set { endpoint.changeLimits { $0[lifecycle.direction] = newValue } }
  }

  private var isTimed: Bool { endpoint.isTimed && endpoint.limits?.isTimed(lifecycle.direction) == true }

  private func seatChanged() {
    isInstalled = installed != nil
    isSeated = isInstalled && home?.loop === installed
    endpoint.seatsChanged()
  }

  // MARK: - What the subclasses answer. The lock is held.

  /// The loop where this half's events belong now.
  func place(_ effects: StreamEffects) -> EventLoop? { effects.contains(.stayOnLoop) ? home?.loop : nil }
  /// What those events should be.
  func wantedWatch(_ effects: StreamEffects) -> Watch { .off }
  /// Installs them. On the thread of `loop`.
  func setWatch(_ watch: Watch, on loop: EventLoop) {}
  /// Looks at the transport and tells the lifecycle what is there.
  func look() {}
  /// Whether nothing is left to do for a half that is gone.
  var isFinished: Bool { true }
  /// The connection failed while this half was open or opening.
  func connectionFailed() { lifecycle.transportFailed() }
  /// The connection is up.
  func connectionOpened() {}
  /// The half has just been closed or dropped.
  func willLeave() {}
  /// The half is done: tells the transport.
  func leaveTransport() {}
  /// Whether the deadline's clock should run.
  var isWaitingForPeer: Bool { false }
  /// What the events of an open half should be that is on the loop of its home.
  var watchWhenSeated: Watch { .off }

  // MARK: - On the loop

  override final func service(on loop: EventLoop) { service(on: loop, thenSibling: true) }

  override final func loopWillEnd(_ loop: EventLoop) {
    endpoint.lock.lock()
    let base = home
    if installed === loop { uninstall(from: loop, unregister: false) }
    if home?.loop === loop { home = nil }
    if wokenLoop === loop { wokenLoop = nil }
    let rest = settle(on: nil)
    endpoint.signalWaiters()
    finish(rest)
    withExtendedLifetime(base) {}
  }

  override final func nextDeadline(_ loop: EventLoop, now: UInt64) -> UInt64? {
    endpoint.lock.lock()
    guard installed === loop, !endpoint.hasFailed, let limits = endpoint.limits, isTimed else {
      isTracked = false
      endpoint.lock.unlock()
      return nil
    }
    deadline.waiting(isWaitingForPeer, now: now)
    if let expiry = deadline.expiry, expiry <= now { lookForProgress() }
    let own = deadline.isSet ? deadline.expiry ?? now &+ deadline.limit : .max
    let idle = lifecycle.status == .open ? limits.idle.expiry ?? .max : .max
    if own <= now {
      deadlinePassed()
    } else if idle <= now {
      endpoint.fail(.posix(Errno.timedOut, "idle"), by: self)
    } else {
      if min(own, idle) == .max { isTracked = false }
      endpoint.lock.unlock()
      return min(own, idle) == .max ? nil : min(own, idle)
    }
    isTracked = false
    deliver(on: loop)
    return nil
  }

  /// The time allowed has passed: a last look whether anything moved. The lock is held.
  func lookForProgress() {}

  /// Another limit was set, which may pass earlier than what the loop was told. The lock is held.
  final func limitChanged() { isTracked = false }

  /// Nothing moved in this direction for the time allowed. The lock is held.
  func deadlinePassed() {
    endpoint.fail(.posix(Errno.timedOut, lifecycle.direction == .reading ? "read" : "write"), by: self)
  }

  /// Bytes moved.
  @inline(__always)
  final func progressed() {
    if endpoint.isTimed { startTimesAnew() }
  }

  @inline(never)
  private func startTimesAnew() {
    guard let limits = endpoint.limits, isTimed else { return }
    let now = SystemCalls.monotonicNow()
    limits[lifecycle.direction].progressed(now: now)
    limits.idle.progressed(now: now)
  }

  // MARK: - Putting the events in order

  /// Brings the installed events in line with the state; `loop` is the one whose thread this is. The lock is held.
  final func settle(on loop: EventLoop?) -> Aftermath {
    let effects = lifecycle.effects
    let place = place(effects)
    var held: StreamHalf?
    if let installed, installed !== place {
      guard installed === loop else { return aftermath(effects) }
      held = self
      uninstall(from: installed, unregister: true)
    }
    if let place {
      if place === loop {
        if installed == nil {
          place.register(self)
          installed = place
        }
        if !isTracked, isTimed {
          isTracked = true
          place.trackDeadlines(of: self)
        }
        if deadline.isSet { deadline.waiting(isWaitingForPeer, now: SystemCalls.monotonicNow()) }
        let wanted = wantedWatch(effects)
        if wanted != watch {
          watch = wanted
          setWatch(wanted, on: place)
        }
        if hasNews || effects.contains(.deliver) { wake(place) }
      } else {
        wake(place)
      }
    }
    var rest = aftermath(effects)
    rest.half = held
    return rest
  }

  private func uninstall(from loop: EventLoop, unregister: Bool) {
    if watch != .off {
      watch = .off
      setWatch(.off, on: loop)
    }
    if unregister { loop.unregister(self) }
    isTracked = false
    installed = nil
  }

  private func wake(_ loop: EventLoop) {
    guard wokenLoop !== loop else { return }
    wokenLoop = loop
    loop.wake(self)
  }

  /// What ended with the change just made, and can only be let go with the lock free.
  private func aftermath(_ effects: StreamEffects) -> Aftermath {
    var rest = Aftermath()
    if keptStream != nil, home == nil || !effects.contains(.stayOnLoop), !isDelivering {
      rest.stream = keptStream
      keptStream = nil
    }
    if lifecycle.isOver, client != nil, !isDelivering {
      rest.client = client
      client = nil
    }
    if isGone, !hasLeft, installed == nil, isFinished {
      hasLeft = true
      leaveTransport()
      rest.farewell = endpoint.left(lifecycle.direction)
    }
    return rest
  }

  /// Gives the lock back and lets go, last of the half itself: nobody may touch it afterwards.
  final func finish(_ rest: consuming Aftermath) {
    endpoint.lock.unlock()
    if let farewell = rest.farewell { endpoint.end(farewell) }
    withExtendedLifetime(rest.half) {}
  }

  /// While a client is called, ``isDelivering`` keeps the stream and so the half; the last reference goes in
  /// ``finish(_:)``, after which nobody touches the half.
  override final var letsGoLast: Bool { true }

  // MARK: - After a call of the owner

  /// Sees to it that a change just made takes effect, on whatever thread this is. Gives the lock back.
  ///
  /// Never calls the client: what is due comes from a later pass of the loop.
  final func changed(by stream: SocketStream?) {
    let effects = lifecycle.effects
    if keptStream == nil, home != nil, effects.contains(.stayOnLoop) { keptStream = stream }
    if isDelivering { return endpoint.lock.unlock() }
    guard let loop = installed ?? place(effects) else { return finish(settle(on: nil)) }
    if loop.isCurrent { return finish(settle(on: loop)) }
    if installed == nil || installed === place(effects) {
      if installed == nil || (!isTracked && isTimed) || wantedWatch(effects) != watch
        || effects.contains(.deliver)
      {
        wake(loop)
      }
      return finish(aftermath(effects))
    }
    // The events have to leave a loop that may not be running: `perform` borrows it then.
    endpoint.lock.unlock()
    loop.perform { self.service(on: loop) }
  }

  /// After a read or a write: does what ``changed(by:)`` does, if there is anything to do. Gives the lock back.
  /// - Parameter wanted: ``watchWhenSeated``.
  @inline(__always)
  final func moved(by stream: SocketStream, watching wanted: Watch) {
    if isDelivering || isAtRest(watching: wanted) || isLeftToSibling(watching: wanted) {
      return endpoint.lock.unlock()
    }
    changed(by: stream)
  }

  /// Whether everything is in order as it is: nothing to tell, no event to change, no deadline that the loop does
  /// not ask for (the clock of one that it does runs or stands as it should, while the half waits for the same). The
  /// question of the hot path, which saves ``settle(on:)``.
  @inline(__always)
  final func isAtRest(watching wanted: Watch) -> Bool {
    isSeated && watch == wanted && !hasNews && lifecycle.isQuiet
      && (!endpoint.isTimed || isTracked || !isTimed)
  }

  /// Whether all there is to do is to call the client, and the other half does that as soon as its own client, which
  /// is being called on the same loop, returns.
  @inline(__always)
  private func isLeftToSibling(watching wanted: Watch) -> Bool {
    guard endpoint.isServing, endpoint.areTogether else { return false }
    endpoint.isSiblingDue = true
    return watch == wanted
  }

  /// Something about the transport may have changed: has the half look, on its loop. The lock is held; any thread.
  final func transportSignalled() {
    hasNews = true
    endpoint.signalWaiters()
    // A half that is gone has no home, and still has to leave when its transport is done.
    if let loop = installed ?? place(lifecycle.effects) ?? (isGone ? .shared : nil) { wake(loop) }
  }
}

/// What must wait until the lock is free: references whose end may run code of the owner, and the connection's end.
struct Aftermath: ~Copyable {
  var stream: SocketStream?
  var client: StreamClient?
  var farewell: Farewell?
  var half: StreamHalf?
}
