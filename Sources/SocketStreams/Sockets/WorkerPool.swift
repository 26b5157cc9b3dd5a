// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Threads for what may wait: look-ups, and questions to the owner of a connection. Started when needed, at most so many, gone
// when idle. First come, first served.

/// A bounded number of threads that run closures.
///
/// `@unchecked Sendable`: the monitor guards what changes.
final class WorkerPool: @unchecked Sendable {
  typealias Work = @Sendable () -> Void

  private let name: String
  private let maximumThreads: Int
  private let idleLimit: UInt64
  private let monitor = Monitor()
  // Guarded by the monitor.
  private var queue: [Work] = []
  private var threads = 0
  private var idleThreads = 0
  private var isClosed = false

  /// - Parameters:
  ///   - name: What debuggers show for the threads; the system takes the first 15 bytes.
  ///   - idleLimit: How long a thread without work stays.
  init(named name: String, maximumThreads: Int, idleLimit: Duration) {
    self.name = name
    self.maximumThreads = maximumThreads
    self.idleLimit = idleLimit.clampedNanoseconds
  }

  /// How many threads there are at this moment, idle ones included.
  var threadCount: Int { monitor.withLock { threads } }

  /// Has one of the threads do `work`.
  /// - Returns: An `errno` if nobody ever will: there is no thread, and none can be started.
  func run(_ work: @escaping Work) -> Int32? {
    monitor.withLock {
      queue.append(work)
      let failure = startThreadIfNeeded()
      if failure != nil { queue.removeAll() }
      return failure
    }
  }

  /// Lets the threads end: idle ones now, busy ones after their work.
  func close() {
    monitor.withLock {
      isClosed = true
      monitor.wakeAll()
    }
  }

  private func startThreadIfNeeded() -> Int32? {
    guard queue.count > idleThreads, threads < maximumThreads else {
      monitor.wakeOne()
      return nil
    }
    do throws(StreamError) {
      EventBaseThread.abandon(try EventBaseThread.start(named: name) { self.serve() })
      threads += 1
      return nil
    } catch {
      return threads == 0 ? error.code : nil
    }
  }

  /// A thread's whole life.
  private func serve() {
    while let work = next() { work() }
  }

  /// Waits for work; `nil` when the thread is to end, which it then no longer counts as.
  private func next() -> Work? {
    monitor.lock()
    defer { monitor.unlock() }
    let deadline = SystemCalls.monotonicNow() &+ idleLimit
    while queue.isEmpty {
      guard !isClosed, SystemCalls.monotonicNow() < deadline else {
        threads -= 1
        return nil
      }
      idleThreads += 1
      monitor.wait(until: deadline)
      idleThreads -= 1
    }
    return queue.removeFirst()
  }
}
