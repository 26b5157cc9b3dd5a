// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What waits in a loop's queue.

/// One entry of a loop's queue. `@safe`: the unowned jobs and executors come from the runtime, which keeps
/// them until the job has run, and each is run once.
@safe
enum LoopJob {
  /// The place of a job that has been taken out.
  case none
  /// A closure that waits for the loop to run, however long.
  case execute(() -> Void)
  /// A closure that touches the loop: it is run at the latest when the run ends.
  case perform(() -> Void)
  /// A closure for which another thread waits.
  case sync(SyncJob)
  /// An item to be serviced.
  case service(LoopItem)
  /// A step of an actor that lives on the loop.
  case serial(UnownedJob, UnownedSerialExecutor)
  /// A step of a task that prefers the loop.
  case task(UnownedJob, UnownedTaskExecutor)

  /// Whether a run of the loop does not end before this is done.
  var holdsRun: Bool {
    switch self {
    case .perform, .sync: true
    case .none, .execute, .service, .serial, .task: false
    }
  }

  /// Whether this is of use only to the loop on which it was queued.
  var diesWithLoop: Bool {
    switch self {
    case .none, .service: true
    case .execute, .perform, .sync, .serial, .task: false
    }
  }

  /// Takes the job out of its place.
  mutating func take() -> LoopJob {
    let job = self
    self = .none
    return job
  }
}

/// A closure that one thread waits for while another runs it.
///
/// `@unchecked Sendable`: the closure is handed to the running thread by the loop's queue and is gone before
/// the waiting thread, which owns what it captures, goes on.
final class SyncJob: @unchecked Sendable {
  private var body: (() -> Void)?
  private let lock = Lock()
  private let changed = Condition()
  private var isDone = false

  init(_ body: @escaping () -> Void) { self.body = body }

  func run() {
    runBody()
    lock.withLock { isDone = true }
    changed.broadcast()
  }

  /// In a function of its own, so that no reference to the closure is left when the waiting thread goes on.
  @inline(never)
  private func runBody() {
    let body = self.body.take()
    body?()
  }

  func wait() {
    lock.lock()
    while !isDone { changed.wait(lock) }
    lock.unlock()
  }
}
