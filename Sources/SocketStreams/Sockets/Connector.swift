// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Gets one connection: looks the name up, and performs what ConnectAttempts decides on sockets, events and timers. It
// runs on the library's own loop, whatever the stream is scheduled on, so a stream that moves meanwhile moves nothing.

/// Where a connection goes to.
enum ConnectTarget: Sendable {
  /// A name or a numeric address, with or without brackets, and a port.
  case host(String, UInt16)
  /// One address, used as it is.
  case address(SocketAddress)
}

/// Gets one connection, or tells why there is none.
///
/// `@unchecked Sendable`: what the lock guards is below its mark; everything else is touched on the loop's thread only.
final class Connector: @unchecked Sendable {
  enum Outcome: Sendable {
    /// A connected socket, not blocking, and who it is with. It is the receiver's to close.
    case connected(fd: Int32, SocketAddress)
    case failed(StreamError)
  }

  /// Called on the thread of ``EventLoop/shared``, once, after `start()` has returned.
  typealias Completion = @Sendable (Outcome) -> Void
  /// Called on the thread of ``EventLoop/shared`` when an attempt begins (`nil`) and when it fails (an `errno`).
  typealias AttemptObserver = @Sendable (SocketAddress, Int32?) -> Void

  private let target: ConnectTarget
  private let options: ConnectionOptions
  private let loop = EventLoop.shared

  private var race = ConnectAttempts()
  private var running: [ConnectAttempts.ID: RunningAttempt] = [:]
  private var lookup: (any ResolverRequest)?
  private var delayTimer: ConnectorTimer?
  private var deadlineTimer: ConnectorTimer?
  private var waitingEffects: [ConnectAttempts.Effect] = []
  private var isPerforming = false
  /// libevent's events do not retain; this does while there are any.
  private var keepAlive: Connector?

  private let lock = Lock()
  // Guarded by the lock.
  private var completion: Completion?
  private var onAttempt: AttemptObserver?

  init(
    _ target: ConnectTarget, options: ConnectionOptions, onAttempt: AttemptObserver? = nil,
    completion: @escaping Completion
  ) {
    self.target = target
    self.options = options
    self.onAttempt = onAttempt
    self.completion = completion
  }

  /// Begins, and returns at once. Once only; any thread.
  func start() {
    // Never at once, even on the loop's own thread: the outcome must not come before the caller has gone on. (A21)
    loop.execute { self.begin() }
  }

  /// Gives up. Nothing is called once this has returned, though a call that had begun before may still run; the sockets
  /// close soon, on the loop's thread. Any thread; also after the outcome, when it does nothing. (A9)
  func cancel() {
    _ = takeCompletion()
    loop.perform { self.perform(self.race.cancelled()) }
  }

  // MARK: - Beginning

  private func begin() {
    guard lock.withLock({ completion != nil }) else { return }
    keepAlive = self
    if let timeout = options.connectTimeout {
      deadlineTimer = ConnectorTimer(self) { $0.perform($0.race.deadlinePassed(code: SystemCalls.timedOut)) }
      deadlineTimer?.start(timeout)
    }
    switch target {
    case .address(let address): perform(race.resolved([address]))
    case .host(let host, let port): lookUp(host, port)
    }
  }

  private func lookUp(_ text: String, _ port: UInt16) {
    // Brackets belong to the way an IPv6 address is written beside a port. (S11)
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]") && text.contains(":")
    let host = isBracketed ? String(text.dropFirst().dropLast()) : text
    guard !host.isEmpty else { return perform(race.lookupFailed(.unresolved(.noName, "an empty name"))) }
    // Weak, since a resolver may keep what it was asked after a cancel, and is itself among the options; a connector
    // that still waits keeps itself.
    lookup = options.resolver.resolve(host, port: port, family: options.addressFamily) { [weak self] result in
      // The resolver's thread is not ours.
      guard let self else { return }
      loop.execute { self.lookedUp(result, host) }
    }
  }

  private func lookedUp(_ result: Result<[SocketAddress], StreamError>, _ host: String) {
    lookup = nil
    switch result {
    case .success(let addresses) where addresses.isEmpty:
      perform(race.lookupFailed(.unresolved(.noData, host)))
    case .success(let addresses): perform(race.resolved(addresses))
    case .failure(let error): perform(race.lookupFailed(error))
    }
  }

  // MARK: - Effects

  /// Performs effects in order. Those that come up meanwhile wait for their turn, so that many addresses that fail at
  /// once do not nest.
  private func perform(_ effects: [ConnectAttempts.Effect]) {
    waitingEffects += effects
    guard !isPerforming else { return }
    isPerforming = true
    while !waitingEffects.isEmpty { perform(waitingEffects.removeFirst()) }
    isPerforming = false
    if race.isOver { cleanUp() }
  }

  private func perform(_ effect: ConnectAttempts.Effect) {
    switch effect {
    case .start(let id, let address): start(id, address)
    case .end(let id): running.removeValue(forKey: id)?.end()
    case .startDelay: startDelay()
    case .cancelLookup:
      lookup?.cancel()
      lookup = nil
    case .finish(let outcome): finish(outcome)
    }
  }

  private func startDelay() {
    if delayTimer == nil { delayTimer = ConnectorTimer(self) { $0.perform($0.race.delayPassed()) } }
    delayTimer?.start(ConnectAttempts.allowedDelay(options.attemptDelay))
  }

  private func finish(_ outcome: ConnectAttempts.Outcome) {
    let winner =
      if case .connected(let id) = outcome { running.removeValue(forKey: id) } else { nil as RunningAttempt? }
    cleanUp()
    guard let call = takeCompletion() else {
      winner?.end()  // cancelled by another thread at this very moment
      return
    }
    switch outcome {
    case .failed(let error): call(.failed(error))
    case .connected:
      // The race named a running attempt as the winner.
      let winner = winner!
      options.configureConnected(winner.fd, winner.address.family)
      call(.connected(fd: winner.release(), winner.address))
    }
  }

  /// Hands out the completion, to one caller only. What the closures hold goes outside of the lock, as it may run code.
  private func takeCompletion() -> Completion? {
    lock.withLock {
      defer {
        completion = nil
        onAttempt = nil
      }
      return (completion, onAttempt)
    }.0
  }

  private func cleanUp() {
    delayTimer = nil
    deadlineTimer = nil
    keepAlive = nil
  }

  // MARK: - Attempts

  private func start(_ id: ConnectAttempts.ID, _ address: SocketAddress) {
    observe(address, nil)
    do throws(StreamError) {
      let socket = try SystemCalls.makeSocket(family: address.family)
      let attempt = RunningAttempt(self, id, address, fd: socket.release())
      running[id] = attempt
      let code = options.configureUnconnected(attempt.fd, address.family)
      if code == 0 { connect(attempt) } else { failed(attempt, code) }
    } catch {
      observe(address, error.code)
      perform(race.attemptFailed(id, code: error.code))
    }
  }

  private func connect(_ attempt: RunningAttempt) {
    switch SystemCalls.connect(attempt.fd, attempt.address) {
    case 0: connected(attempt)
    case SystemCalls.inProgress:
      if !attempt.watch(loop) { failed(attempt, SystemCalls.lastError) }
    // A full queue of a Unix listener is said at once, and nothing tells when there is room. (A11)
    case SystemCalls.tryAgain where attempt.address.isUnix: attempt.retryLater(loop)
    case let code: failed(attempt, code)
    }
  }

  /// The socket's event or the timer of a retry fired.
  func fired(_ attempt: RunningAttempt, _ flags: EventFlags) {
    if flags.contains(.timeout) { return connect(attempt) }
    let code = SystemCalls.socketError(attempt.fd)
    if code == 0 { connected(attempt) } else { failed(attempt, code) }
  }

  private func connected(_ attempt: RunningAttempt) {
    // TCP lets a socket connect to itself if the kernel happened to give it the port that it asks for: nobody listens.
    if !attempt.address.isUnix, (try? SystemCalls.localAddress(attempt.fd)) == attempt.address.unmapped {
      return failed(attempt, SystemCalls.refused)
    }
    perform(race.attemptConnected(attempt.id))
  }

  private func failed(_ attempt: RunningAttempt, _ code: Int32) {
    observe(attempt.address, code)
    perform(race.attemptFailed(attempt.id, code: code))
  }

  private func observe(_ address: SocketAddress, _ code: Int32?) {
    lock.withLock { onAttempt }?(address, code)
  }
}
