// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Actors and tasks on a base. EventLoop is the serial executor itself; this hands on to it.

/// A base runs actors and tasks: an actor that returns ``asUnownedSerialExecutor()`` from `unownedExecutor`,
/// and keeps the base, lives on the base's thread; `Task(executorPreference: base)` and
/// `withTaskExecutorPreference` run there what has no actor. Code of such an actor and callbacks of streams
/// on the same base call each other without a hop.
extension EventBase: SerialExecutor, TaskExecutor {
  /// Queues one step of a task or an actor.
  public func enqueue(_ job: consuming ExecutorJob) {
    // Actors come by way of asUnownedSerialExecutor, so this is a task's.
    unsafe loop.enqueue(job, for: UnownedTaskExecutor(ordinary: self))
  }

  /// The executor for an actor's `unownedExecutor`. The actor keeps the base alive.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: loop)
  }

  /// Traps unless the calling thread is the base's: what `assumeIsolated` and `preconditionIsolated` ask.
  public func checkIsolated() { loop.checkIsolated() }

  /// Whether the calling thread is the base's.
  public func isIsolatingCurrentContext() -> Bool? { loop.isCurrent }
}
