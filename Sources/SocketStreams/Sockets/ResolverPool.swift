// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The threads on which look-ups wait: started when needed, at most so many, gone when idle. First come, first served;
// callers who want the same share one look-up. Knows nothing of how names are looked up.

/// The threads on which look-ups wait.
///
/// `@unchecked Sendable`: the monitor guards what changes.
final class ResolverPool: @unchecked Sendable {
  /// Looks up a name and waits for the answer; the addresses have port 0.
  typealias Lookup =
    @Sendable (_ host: String, _ family: AddressFamily) -> Result<[SocketAddress], StreamError>

  /// What makes two look-ups the same. The preferences only sort, so they ask like `any`.
  private struct Question: Hashable {
    let host: String
    let family: AddressFamily
  }

  /// One look-up, waiting or under way, and who wants it. Guarded by the monitor.
  private final class Job {
    let question: Question
    var waiting: [Waiter] = []
    init(_ question: Question) { self.question = question }
  }

  private struct Waiter {
    let answer: PendingAnswer
    let port: UInt16
    let family: AddressFamily
  }

  private let lookup: Lookup
  private let maximumThreads: Int
  private let idleLimit: UInt64
  private let monitor = Monitor()
  // Guarded by the monitor.
  private var queue: [Job] = []
  private var jobs: [Question: Job] = [:]
  private var threads = 0
  private var idleThreads = 0
  private var isClosed = false

  init(maximumThreads: Int, idleLimit: Duration, lookup: @escaping Lookup) {
    self.lookup = lookup
    self.maximumThreads = maximumThreads
    self.idleLimit = idleLimit.clampedNanoseconds
  }

  /// How many threads there are at this moment, idle ones included.
  var threadCount: Int { monitor.withLock { threads } }

  /// How many look-ups wait for a thread.
  var queuedCount: Int { monitor.withLock { queue.count } }

  /// Queues a look-up, or joins one that asks the same.
  func resolve(
    _ host: String, port: UInt16, family: AddressFamily, completion: @escaping PendingAnswer.Completion
  ) -> PendingAnswer {
    let asked: AddressFamily = family == .ipv4 || family == .ipv6 ? family : .any
    let question = Question(host: host, family: asked)
    let answer = PendingAnswer(completion) { answer in self.abandon(question, answer) }
    let failure = monitor.withLock {
      let waiter = Waiter(answer: answer, port: port, family: family)
      if let job = jobs[question] {
        job.waiting.append(waiter)
        return nil as Int32?
      }
      let job = Job(question)
      job.waiting.append(waiter)
      jobs[question] = job
      queue.append(job)
      return startThreadIfNeeded()
    }
    if let failure { failQueue(failure, host: host) }
    return answer
  }

  /// Lets the threads end: idle ones now, busy ones after their look-up.
  func close() {
    monitor.withLock {
      isClosed = true
      monitor.wakeAll()
    }
  }

  /// - Returns: An `errno` if nobody will ever serve the queue.
  private func startThreadIfNeeded() -> Int32? {
    guard queue.count > idleThreads, threads < maximumThreads else {
      monitor.wakeOne()
      return nil
    }
    do throws(StreamError) {
      EventBaseThread.abandon(try EventBaseThread.start(named: "SocketResolver") { self.serve() })
      threads += 1
      return nil
    } catch {
      return threads == 0 ? error.code : nil
    }
  }

  private func failQueue(_ code: Int32, host: String) {
    let failed = monitor.withLock {
      let waiting = queue.flatMap(\.waiting)
      queue.removeAll()
      jobs.removeAll()
      return waiting
    }
    for waiter in failed { waiter.answer.post(.failure(.posix(code, "resolve \(host)"))) }
  }

  /// A thread's whole life.
  private func serve() {
    while let job = next() {
      let question = job.question
      let result = lookup(question.host, question.family)
      let waiting = monitor.withLock {
        jobs[question] = nil
        return job.waiting
      }
      for waiter in waiting {
        waiter.answer.answer(
          result.flatMap { addresses in
            waiter.family.select(addresses.map { $0.withPort(waiter.port) }, host: question.host)
          })
      }
    }
  }

  /// Waits for work; `nil` when the thread is to end, which it then no longer counts as.
  private func next() -> Job? {
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

  /// Someone gave up. A look-up that nobody wants any more and that has not begun is dropped.
  private func abandon(_ question: Question, _ answer: PendingAnswer) {
    monitor.withLock {
      guard let job = jobs[question] else { return }
      job.waiting.removeAll { $0.answer === answer }
      guard job.waiting.isEmpty, let place = queue.firstIndex(where: { $0 === job }) else { return }
      queue.remove(at: place)
      jobs[question] = nil
    }
  }
}
