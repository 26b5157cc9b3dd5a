// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A closure that a loop calls when the process gets a signal.
internal import Glibc
internal import Synchronization

/// A signal that an ``EventBase`` watches for. Dropping it does not cancel it.
public final class EventSignal: Sendable {
  private let loop: EventLoop
  private let item: SignalItem

  init(_ loop: EventLoop, _ number: Int32, _ body: @escaping () -> Void) throws(StreamError) {
    // glibc keeps 32 and 33 for itself.
    let isCatchable = (1...64).contains(number) && ![SIGKILL, SIGSTOP, 32, 33].contains(number)
    guard isCatchable else { throw .posix(EINVAL, "watch for signal \(number)") }
    guard SignalClaim.acquire(loop) else { throw .posix(EBUSY, "watch for signal \(number)") }
    self.loop = loop
    let item = SignalItem(number, loop, body)
    self.item = item
    loop.perform { item.start() }
  }

  /// Stops watching; with the last of its kind the signal has its earlier effect again. Any thread may call
  /// it, the closure itself too; again does nothing. On the base's thread the closure is not called after
  /// this returns; called on another thread, this does not wait for a call that has begun.
  public func cancel() {
    guard item.cancel() else { return }
    loop.perform { [item] in item.stop() }
  }
}

/// Which loop has the process's signals. libevent delivers them all to one base (2.1.12: `evsig_base`).
private struct SignalClaim {
  private static let current = Guarded(SignalClaim())

  private var owner: ObjectIdentifier?
  private var count = 0

  /// - Returns: Whether `loop` may watch for one signal more, until ``release()``.
  static func acquire(_ loop: EventLoop) -> Bool {
    current.withLock { claim in
      guard claim.count == 0 || claim.owner == ObjectIdentifier(loop) else { return false }
      claim.owner = ObjectIdentifier(loop)
      claim.count += 1
      return true
    }
  }

  static func release() { current.withLock { $0.count -= 1 } }
}

/// The signal on its loop.
///
/// `@unchecked Sendable`: `isCancelled` is atomic; the rest is set before the item is handed to its loop, and
/// from then on touched on the loop's thread only.
private final class SignalItem: LoopItem, @unchecked Sendable {
  private let isCancelled = Atomic(false)
  private let number: Int32
  private var body: (() -> Void)?
  private var event: EventHandle?
  private var loop: EventLoop?

  init(_ number: Int32, _ loop: EventLoop, _ body: @escaping () -> Void) {
    self.number = number
    self.loop = loop
    self.body = body
    super.init()
  }

  func start() {
    guard let loop, !loop.hasEnded, !isCancelled.load(ordering: .relaxed) else { return stop() }
    loop.register(self)
    LoopHandle.signalState.withLock {
      event = EventHandle(loop.handle, fd: number, [.signal, .persist], target: self)
      event?.add()
    }
  }

  /// The claim goes with the closure: both once.
  func stop() {
    LoopHandle.signalState.withLock { event = nil }
    loop.take()?.unregister(self)
    if body.take() != nil { SignalClaim.release() }
  }

  /// - Returns: Whether this call is the one that cancels it.
  func cancel() -> Bool { !isCancelled.exchange(true, ordering: .relaxed) }

  override func eventFired(_ flags: EventFlags) {
    guard !isCancelled.load(ordering: .relaxed), let body else { return stop() }
    body()
  }

  override func loopWillEnd(_ loop: EventLoop) { stop() }
}
