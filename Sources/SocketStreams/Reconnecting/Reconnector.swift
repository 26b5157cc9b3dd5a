// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Does what the schedule of a client that stays connected says. Asked and told on any thread, under a lock; attempts,
// waits and the owner's handler begin on the thread of the base, from a queue that a stop empties.

/// Behind a ``ReconnectingClient``.
///
/// `@unchecked Sendable`: `lock` guards everything that changes; `owner` is set once, before anything else; `handler`,
/// handed over by a `sending` parameter, is called on one thread at a time.
final class Reconnector: LoopItem, @unchecked Sendable {
  typealias ID = ReconnectSchedule.ID

  /// What is to be done on the thread of the base.
  private enum Work {
    case tell(ReconnectEvent)
    case connect(ID)
    case wait(ID, Duration)
  }

  /// What a change lets go of, with the lock free.
  private struct Dropped {
    var timer: EventTimer?
    var base: EventBase?
    var work: [Work] = []
  }

  private let makePair: @Sendable () -> StreamPair
  private let handler: (ReconnectingClient, ReconnectEvent) -> Void
  private weak var owner: ReconnectingClient?

  private let lock = Lock()
  private var schedule: ReconnectSchedule
  private var work: [Work] = []
  /// The streams that are being connected.
  private var attempt: StreamPair?
  /// Attempts that were given up, until they are closed.
  private var givenUp: [StreamPair] = []
  private var timer: EventTimer?
  /// `nil` while stopped.
  private var home: EventBase?
  /// The loop that tells this item of its end. Changed on its thread only.
  private var installed: EventLoop?
  private var isWoken = false
  private var isWorking = false

  init(
    _ policy: ReconnectPolicy, _ makePair: @escaping @Sendable () -> StreamPair,
    _ handler: sending @escaping (ReconnectingClient, ReconnectEvent) -> Void
  ) {
    schedule = ReconnectSchedule(policy)
    self.makePair = makePair
    self.handler = handler
  }

  /// Called once, before anything else.
  func setOwner(_ owner: ReconnectingClient) { self.owner = owner }

  // MARK: - Any thread

  func start(on base: EventBase, _ request: (inout ReconnectSchedule) -> [ReconnectSchedule.Effect]) {
    lock.lock()
    home = base
    changed(request(&schedule))
  }

  func stop() {
    lock.lock()
    var dropped = Dropped(work: work)
    work = []
    changed(schedule.stopRequested(), &dropped)
  }

  /// The streams of attempt `id` are both closed, or the connection that it has become is over.
  private func over(_ id: ID) {
    lock.lock()
    changed(schedule.connectionOver(id, random: .random(in: 0...1)))
  }

  private func changed(_ effects: [ReconnectSchedule.Effect], after error: StreamError? = nil) {
    var dropped = Dropped()
    changed(effects, &dropped, after: error)
  }

  /// Queues what is to be done on the thread of the base, does the rest, and gives the lock back.
  private func changed(
    _ effects: [ReconnectSchedule.Effect], _ dropped: inout Dropped, after error: StreamError? = nil
  ) {
    for effect in effects {
      switch effect {
      case .connect(let id, let attempt): work += [.tell(.connecting(attempt: attempt)), .connect(id)]
      case .drop: if let pair = attempt.take() { givenUp.append(pair) }
      case .handOver: if let pair = attempt.take() { work.append(.tell(.connected(pair))) }
      case .wait(let id, let delay): work += [.wait(id, delay), .tell(.waiting(delay, after: error))]
      case .cancelWait: dropped.timer = timer.take()
      case .giveUp: work.append(.tell(.gaveUp(error ?? .misuse(.notOpen, "connect"))))
      }
    }
    let loop = home?.loop
    let mustWake = !isWoken && !isWorking && !work.isEmpty
    if mustWake { isWoken = loop != nil }
    if schedule.isStopped { dropped.base = home.take() }
    let seat = home == nil ? installed : nil
    lock.unlock()
    dropped.timer?.cancel()
    closeGivenUp()
    if mustWake { loop?.wake(self) }
    // A loop that nobody runs any more would not get to it otherwise.
    if let seat { seat.perform { self.takeSeat(on: seat) } }
  }

  /// Closes the attempts that were given up. Another thread may be about to do so, but none begins the next attempt
  /// before this has returned to it.
  private func closeGivenUp() {
    let pairs = lock.withLock { givenUp }
    guard !pairs.isEmpty else { return }
    for pair in pairs { pair.close() }
    lock.withLock { givenUp.removeAll { pair in pairs.contains { $0.output === pair.output } } }
  }

  // MARK: - On the thread of the base

  override func service(on loop: EventLoop) {
    takeSeat(on: loop)
    lock.lock()
    isWoken = false
    // Called by a loop inside a call of the handler, which goes on with the queue itself.
    guard !isWorking else { return lock.unlock() }
    isWorking = true
    let count = work.count
    lock.unlock()
    // What comes meanwhile is for the next pass, so that a handler cannot keep the loop for itself.
    for _ in 0..<count { if !performNext() { break } }
    lock.lock()
    isWorking = false
    let goesOn = !work.isEmpty && !isWoken
    if goesOn { isWoken = true }
    lock.unlock()
    if goesOn { loop.wake(self) }
  }

  /// Is told of the end of `loop` while it is that of the base, and not otherwise.
  private func takeSeat(on loop: EventLoop) {
    lock.lock()
    let belongs = home?.loop === loop && !loop.hasEnded
    if belongs, installed == nil {
      installed = loop
      loop.register(self)
    } else if !belongs, installed === loop {
      installed = nil
      loop.unregister(self)
    }
    lock.unlock()
  }

  override func loopWillEnd(_ loop: EventLoop) {
    lock.lock()
    if installed === loop { installed = nil }
    guard home == nil || home?.loop === loop else { return lock.unlock() }
    lock.unlock()
    stop()
  }

  /// Does the first of what is to be done; what that lets go of goes with the lock free.
  /// - Returns: Whether there was any.
  private func performNext() -> Bool {
    lock.lock()
    let next = work.isEmpty ? nil : work.removeFirst()
    let base = home
    lock.unlock()
    if let next { perform(next, on: base) }
    return next != nil
  }

  private func perform(_ work: Work, on base: EventBase?) {
    switch work {
    case .tell(let event): if let owner { handler(owner, event) }
    case .connect(let id): if let base { connect(id, on: base) }
    case .wait(let id, let delay): if let base { wait(id, delay, on: base) }
    }
  }

  private func wait(_ id: ID, _ delay: Duration, on base: EventBase) {
    let timer = base.schedule(after: delay) { [weak self] in self?.waitEnded(id) }
    lock.lock()
    let isWanted = schedule.isWaiting(id)
    if isWanted { self.timer = timer }
    lock.unlock()
    if !isWanted { timer.cancel() }
  }

  private func waitEnded(_ id: ID) {
    lock.lock()
    if schedule.isWaiting(id) { timer = nil }
    changed(schedule.waitEnded(id))
  }

  private func connect(_ id: ID, on base: EventBase) {
    guard lock.withLock({ schedule.isConnecting(id) }) else { return }
    closeGivenUp()
    let pair = makePair()
    lock.lock()
    let isWanted = schedule.isConnecting(id)  // the owner's code may have stopped it
    if isWanted { attempt = pair }
    lock.unlock()
    guard isWanted else { return }
    pair.whenOver { [weak self] in self?.over(id) }
    // Not openCompleted, which is told once: the owner's client is to hear it.
    pair.output.setClient([.canAcceptBytes, .errorOccurred]) { [weak self] stream, event in
      if event == .canAcceptBytes { self?.opened(id) } else { self?.failed(id, stream.error) }
    }
    pair.output.schedule(on: base)
    pair.open()
    // Who gave it up before it was opened could not close it.
    if !lock.withLock({ schedule.isConnecting(id) }) { pair.close() }
  }

  private func opened(_ id: ID) {
    lock.lock()
    let effects = schedule.attemptConnected(id)
    let pair = effects.isEmpty ? nil : attempt
    let base = home
    // The handler is called from a later pass of this thread, so nobody has the pair yet.
    changed(effects)
    guard let pair, let base else { return }
    pair.output.removeClient()
    pair.output.unschedule(from: base)
  }

  private func failed(_ id: ID, _ error: StreamError?) {
    lock.lock()
    changed(schedule.attemptFailed(id, random: .random(in: 0...1)), after: error)
  }
}
