// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The thread that a task runs on, whoever's loop it runs.

import SocketStreams

/// A thread with a loop. Actors can live on it; any thread may call its functions.
protocol NetworkLoop: SerialExecutor {
  associatedtype Timer: LoopTimer

  /// Runs `body` on the thread, in order, and never before this returns.
  func execute(_ body: sending @escaping () -> Void)
  /// Calls `body` on the thread after `delay`, and with `repeating` every `delay` from then on.
  @discardableResult
  func schedule(after delay: Duration, repeating: Bool, _ body: sending @escaping () -> Void) -> Timer
  /// Ends the loop soon, after what was queued before.
  func stop()
  /// Waits until the thread is gone; somebody has to call ``stop()``.
  func join()
}

extension NetworkLoop {
  /// Calls `body` on the thread once, after `delay`.
  @discardableResult
  func schedule(after delay: Duration, _ body: sending @escaping () -> Void) -> Timer {
    schedule(after: delay, repeating: false, body)
  }
}

/// A timer of a loop. Dropping it does not cancel it.
protocol LoopTimer {
  func cancel()
}

extension EventBase: NetworkLoop {}
extension EventTimer: LoopTimer {}
