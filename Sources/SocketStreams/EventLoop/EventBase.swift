// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The public face of a loop. What it does is in EventLoop.swift.

/// A libevent loop, on which streams deliver their events and closures run, and the thread that runs it.
///
/// There are three kinds. A base from ``startThread(named:)`` has a thread of its own. One from ``init()``
/// runs on the thread that calls ``run()``. One from ``init(adopting:)`` uses a host program's `event_base`,
/// run by the host.
///
/// Every method may be called on any thread unless it says otherwise. A base whose thread has ended, or whose
/// use has been ended by ``invalidate()``, cancels its timers and signals; what it is asked to run afterwards
/// runs on a thread of the library's own, so that nothing waits for ever.
///
/// Whoever uses a base keeps it alive: a stream that is scheduled on it does. The last release ends it, at
/// once or, if its thread is busy, soon afterwards; it never waits.
///
/// Corresponds to `CFRunLoop`, which the streams of CoreFoundation are scheduled on.
public final class EventBase: Sendable, CustomStringConvertible {
  let loop: EventLoop

  private init(_ loop: EventLoop) { self.loop = loop }

  deinit { loop.requestEnd() }

  /// Makes a base that runs on the thread that calls ``run()``.
  /// - Throws: The domain `.posix` if the process has no descriptors or memory left.
  public convenience init() throws(StreamError) { self.init(try .forCaller()) }

  /// Uses a host program's `event_base *`, which the host runs and frees.
  ///
  /// Call it on the thread that runs `base`, or while no thread does. It adds one event to `base`, through
  /// which other threads reach it; therefore `event_base_dispatch` returns only by `event_base_loopbreak`,
  /// `event_base_loopexit` or after ``invalidate()``. libevent's own locking is not needed, and does no harm.
  /// The host
  /// - runs `base` on one thread,
  /// - calls ``invalidate()`` before `event_base_free`,
  /// - does not wait by ``sync(_:)`` on the thread that is to run `base` before it runs.
  ///
  /// SIGPIPE is not blocked on the host's thread; the library's own writes never raise it.
  /// - Throws: The domain `.posix` if the process has no descriptors left.
  @unsafe
  public convenience init(adopting base: OpaquePointer) throws(StreamError) {
    self.init(try .adopting(unsafe LoopHandle(adopting: base)))
  }

  /// Makes a base and a thread that runs it until ``stop()`` or the last release.
  ///
  /// On the thread, all signals are blocked but those that its own faults raise.
  /// - Parameter name: What debuggers and `top` show for the thread; the system takes the first 15 bytes.
  /// - Throws: The domain `.posix` if the process has no descriptors, memory or threads left.
  public static func startThread(named name: String = "SocketStreams") throws(StreamError) -> EventBase {
    EventBase(try .startThread(named: name))
  }

  /// The base that the library runs for itself, from its first use until the process ends. For the streams of modules
  /// that have no base of their user's; no user's client may be called on it.
  package static let shared = EventBase(EventLoop.shared)

  // MARK: - Running

  /// Runs the loop on the calling thread until ``stop()``, even if there is nothing to wait for.
  ///
  /// Meanwhile SIGPIPE is blocked on the thread, and afterwards not, if it was not before. Closures that were
  /// queued before the stop are run before this returns. It may be called again.
  ///
  /// Only for a base from ``init()``, and on one thread at a time. Corresponds to `CFRunLoopRun`.
  public func run() { loop.run() }

  /// Ends ``run()`` soon; if the base is not running, the next ``run()`` returns at once. The thread of a
  /// base from ``startThread(named:)`` ends for good, after the closures that were queued before. Has no
  /// effect on a host's base.
  ///
  /// Corresponds to `CFRunLoopStop`.
  public func stop() { loop.stop() }

  /// Waits until the base's own thread is gone; somebody has to call ``stop()``. Returns at once if there is
  /// no such thread. Any number of threads may wait, but not the base's own.
  public func join() { loop.join() }

  /// Ends the use of the base now: what is queued is run, streams that are still scheduled come off it,
  /// timers and signals are cancelled, and the library's event is removed.
  ///
  /// For a host's base, to be called before `event_base_free`, on the thread that runs it or while no thread
  /// does. A base of the library's own is ended as by its last release. A second call does nothing.
  ///
  /// Corresponds to `CFRunLoopSourceInvalidate`.
  public func invalidate() { loop.invalidate() }

  /// Whether the calling thread is the one that runs the base.
  ///
  /// A host's base learns its thread when it first runs; before that, the answer is `false`.
  public var isCurrent: Bool { loop.isCurrent }

  // MARK: - Closures

  /// Runs `body` on the base's thread, in order, and never before this returns. What `body` captures moves
  /// there.
  ///
  /// On a base that nobody runs, `body` waits for ``run()``. Corresponds to `CFRunLoopPerformBlock` with
  /// `CFRunLoopWakeUp`.
  public func execute(_ body: sending @escaping () -> Void) { loop.execute(body) }

  /// Runs `body` on the base's thread and waits for it; at once if already there. On a base from ``init()``
  /// that nobody runs, `body` runs on the calling thread, which counts as the base's meanwhile.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws.
  public func sync<T: Sendable, E: Error>(_ body: sending () throws(E) -> T) throws(E) -> T {
    var result: Result<T, E>?
    loop.sync {
      do throws(E) { result = .success(try body()) } catch { result = .failure(error) }
    }
    // sync returns after its closure has run, and only then.
    return try result!.get()
  }

  /// Calls `body` on the base's thread after `delay`, never early, and with `repeating` every `delay` from
  /// then on.
  ///
  /// A call that is late by more than `delay` stands for those that were missed. `body` is kept until it has
  /// been called for the last time, ``EventTimer/cancel()``, or the end of the base, so that a repeating one
  /// that captures the base has to be cancelled. A negative `delay` counts as none.
  @discardableResult
  public func schedule(
    after delay: Duration, repeating: Bool = false, _ body: sending @escaping () -> Void
  ) -> EventTimer {
    EventTimer(loop.living, after: delay, repeating: repeating, body)
  }

  /// Calls `body` on the base's thread when the process gets signal `number`, until ``EventSignal/cancel()``.
  /// Signals that come faster than the loop turns may be reported as one.
  ///
  /// The signal's earlier effect is suspended meanwhile. The signal must not be blocked on every thread.
  /// - Throws: `EBUSY` if another base watches for signals, as libevent delivers all of a process to one; or
  ///   did, and its thread has not seen yet that the last of them was cancelled. `EINVAL` if `number` cannot
  ///   be caught.
  @discardableResult
  public func onSignal(
    _ number: Int32, _ body: sending @escaping () -> Void
  ) throws(StreamError) -> EventSignal {
    try EventSignal(loop.living, number, body)
  }

  /// The kind of base, and the name of its thread.
  public var description: String { "EventBase(\(loop.name))" }
}
