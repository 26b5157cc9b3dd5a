// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The connections that a listener accepted and that are not over: counted, limited, and cut when their time is up.

/// Has count of a listener's connections. Outlives the listener as long as one of them is open.
///
/// `@unchecked Sendable`: `limits` is constant, and `lock` guards the rest.
final class OpenConnections: PairKeeper, @unchecked Sendable {
  private let limits: ConnectionLimits
  private let lock = Lock()
  /// A pair's endpoint is there as long as it is in here: its end takes it out first.
  private var admission: Admission<Uncounted<Endpoint>>
  /// Wants to hear of the next end.
  private var waiting: ListeningSocket?
  private var drains: [Drain] = []
  /// The listener is closed, and none of its calls is under way: no connection comes any more.
  private var isSealed = false
  /// A drain's time was up.
  private var isCut = false

  /// Somebody who waits for the last end, but not for ever.
  private struct Drain {
    let loop: EventLoop
    let timer: EventTimer
    let completion: (Int) -> Void
  }

  init(_ limits: ConnectionLimits) {
    self.limits = limits
    admission = Admission(limits)
  }

  var count: Int { lock.withLock { admission.count } }

  // MARK: - Accepting

  /// Whether one more may be accepted. If not, `listener` is told when one has ended.
  func hasRoom(orTell listener: ListeningSocket) -> Bool {
    guard limits.total != nil else { return true }
    return lock.withLock {
      if !admission.hasRoom { waiting = listener }
      return admission.hasRoom
    }
  }

  /// Tells `listener` when one has ended, and with it perhaps a descriptor came free.
  func tellOfEnd(_ listener: ListeningSocket) { lock.withLock { waiting = listener } }

  /// Whether a connection from `peer` is within the limit of its address.
  func admits(_ peer: SocketAddress) -> Bool {
    limits.perPeer == nil || lock.withLock { admission.admits(peer) }
  }

  /// Makes the pair of an accepted connection, which counts from now on; `nil` if all were cut meanwhile.
  func pair(_ socket: consuming NativeSocket, from peer: SocketAddress) -> StreamPair? {
    let pair = StreamPair(accepted: socket, by: self)
    let isLate = lock.withLock {
      if !isCut { admission.accepted(Uncounted(pair.input.half.endpoint), from: peer) }
      return isCut
    }
    return isLate ? nil : pair
  }

  // MARK: - The end

  override func pairEnded(_ endpoint: Endpoint) {
    lock.lock()
    admission.ended(Uncounted(endpoint))
    let waiting = waiting.take()
    let done = takeDrainsIfDone()
    lock.unlock()
    waiting?.connectionEnded()
    finish(done, cut: 0)
  }

  /// No connection comes any more.
  func seal() {
    lock.lock()
    isSealed = true
    let waiting = waiting.take()
    let done = takeDrainsIfDone()
    lock.unlock()
    finish(done, cut: 0)
    withExtendedLifetime(waiting) {}
  }

  /// Calls `completion` on `loop` when the last connection has ended, after the seal; at the latest after `limit`, when
  /// those that are left are cut, and then with how many these were.
  func drain(within limit: Duration, on loop: EventLoop, _ completion: sending @escaping (Int) -> Void) {
    lock.lock()
    // On the shared loop: another may end before the time does, or be run by nobody. Under the lock, for which the timer
    // waits: it finds the drain there.
    let timer = EventTimer(.shared, after: limit, repeating: false) { self.cut() }
    drains.append(Drain(loop: loop, timer: timer, completion: completion))
    let done = takeDrainsIfDone()
    lock.unlock()
    finish(done, cut: 0)
  }

  private func cut() {
    lock.lock()
    isCut = true
    let endpoints = admission.cut().map { $0.use { $0 } }
    let due = drains
    drains = []
    lock.unlock()
    for endpoint in endpoints { endpoint.abort() }
    finish(due, cut: endpoints.count)
  }

  /// The lock is held.
  private func takeDrainsIfDone() -> [Drain] {
    guard isSealed, admission.count == 0, !drains.isEmpty else { return [] }
    defer { drains = [] }
    return drains
  }

  private func finish(_ drains: [Drain], cut count: Int) {
    for drain in drains {
      drain.timer.cancel()
      drain.loop.execute { drain.completion(count) }
    }
  }
}
