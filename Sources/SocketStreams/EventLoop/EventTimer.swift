// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A closure that a loop calls after a time, once or again and again.
internal import Synchronization

/// A timer on an ``EventBase``. Dropping it does not cancel it.
///
/// Corresponds to `CFRunLoopTimer`.
public final class EventTimer: Sendable {
  private let loop: EventLoop
  private let item: TimerItem

  init(_ loop: EventLoop, after delay: Duration, repeating: Bool, _ body: @escaping () -> Void) {
    self.loop = loop
    let item = TimerItem(delay: delay, repeating: repeating, now: loop.monotonicNow(), body)
    self.item = item
    loop.perform { item.start(on: loop.living) }
  }

  /// Makes the timer fire no more, and lets go of its closure. Any thread may call it, the closure itself
  /// too; again does nothing. On the base's thread the closure is not called after this returns; called on
  /// another thread, this does not wait for a call that has begun.
  public func cancel() {
    guard item.cancel() else { return }
    loop.perform { [item] in item.stop() }
  }
}

/// The timer on its loop.
///
/// `@unchecked Sendable`: `isCancelled` is atomic; the rest is set before the item is handed to its loop, and
/// from then on touched on the loop's thread only.
private final class TimerItem: LoopItem, @unchecked Sendable {
  private let isCancelled = Atomic(false)
  /// Nanoseconds between two calls; `nil` for one call only.
  private let interval: UInt64?
  private var deadline: UInt64
  private var body: (() -> Void)?
  private var event: EventHandle?
  private var loop: EventLoop?

  init(delay: Duration, repeating: Bool, now: UInt64, _ body: @escaping () -> Void) {
    let nanoseconds = delay.clampedNanoseconds
    interval = repeating ? nanoseconds : nil
    deadline = now + nanoseconds
    self.body = body
    super.init()
  }

  func start(on loop: EventLoop) {
    guard !isCancelled.load(ordering: .relaxed) else { return stop() }
    self.loop = loop
    loop.register(self)
    event = EventHandle(loop.handle, fd: -1, .timeout, target: self)
    setEvent(now: loop.monotonicNow())
  }

  func stop() {
    event = nil
    loop.take()?.unregister(self)
    body = nil
  }

  /// - Returns: Whether this call is the one that cancels it.
  func cancel() -> Bool { !isCancelled.exchange(true, ordering: .relaxed) }

  private func setEvent(now: UInt64) {
    event?.add(afterNanoseconds: deadline > now ? deadline - now : 0)
  }

  override func eventFired(_ flags: EventFlags) {
    guard !isCancelled.load(ordering: .relaxed), let loop, let body else { return stop() }
    let now = loop.monotonicNow()
    // 2.1.12 reads a coarse clock, so an event may fire some milliseconds early.
    guard now >= deadline else { return setEvent(now: now) }
    if let interval {
      // Calls that were missed are not made up for.
      deadline = deadline + interval > now ? deadline + interval : now + interval
      setEvent(now: now)
    } else {
      stop()
    }
    body()
  }

  override func loopWillEnd(_ loop: EventLoop) { stop() }
}
