// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Look-ups that wait for a thread, or on one. First come, first served; callers who want the same share one look-up. Knows
// nothing of how names are looked up.

/// Look-ups, on threads of their own.
///
/// `@unchecked Sendable`: the lock guards what changes.
final class ResolverPool: @unchecked Sendable {
  /// Looks up a name and waits for the answer; the addresses have port 0.
  typealias Lookup =
    @Sendable (_ host: String, _ family: AddressFamily) -> Result<[SocketAddress], StreamError>

  /// What makes two look-ups the same. The preferences only sort, so they ask like `any`.
  private struct Question: Hashable {
    let host: String
    let family: AddressFamily
  }

  /// One look-up, waiting or under way, and who wants it. Guarded by the lock.
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
  private let workers: WorkerPool
  private let lock = Lock()
  // Guarded by the lock.
  private var queue: [Job] = []
  private var jobs: [Question: Job] = [:]

  init(maximumThreads: Int, idleLimit: Duration, lookup: @escaping Lookup) {
    self.lookup = lookup
    workers = WorkerPool(named: "SocketResolver", maximumThreads: maximumThreads, idleLimit: idleLimit)
  }

  /// How many threads there are at this moment, idle ones included.
  var threadCount: Int { workers.threadCount }

  /// How many look-ups wait for a thread.
  var queuedCount: Int { lock.withLock { queue.count } }

  /// Queues a look-up, or joins one that asks the same.
  func resolve(
    _ host: String, port: UInt16, family: AddressFamily, completion: @escaping PendingAnswer.Completion
  ) -> PendingAnswer {
    let asked: AddressFamily = family == .ipv4 || family == .ipv6 ? family : .any
    let question = Question(host: host, family: asked)
    let answer = PendingAnswer(completion) { answer in self.abandon(question, answer) }
    let isNew = lock.withLock {
      let waiter = Waiter(answer: answer, port: port, family: family)
      if let job = jobs[question] {
        job.waiting.append(waiter)
        return false
      }
      let job = Job(question)
      job.waiting.append(waiter)
      jobs[question] = job
      queue.append(job)
      return true
    }
    if isNew, let failure = workers.run({ self.serve() }) { failQueue(failure, host: host) }
    return answer
  }

  /// Lets the threads end: idle ones now, busy ones after their look-up.
  func close() { workers.close() }

  private func failQueue(_ code: Int32, host: String) {
    let failed = lock.withLock {
      let waiting = queue.flatMap(\.waiting)
      queue.removeAll()
      jobs.removeAll()
      return waiting
    }
    for waiter in failed { waiter.answer.post(.failure(.posix(code, "resolve \(host)"))) }
  }

  /// Does the first look-up that waits, on a thread of the workers'. There is none if everyone who wanted it gave up.
  private func serve() {
    guard let question = lock.withLock({ queue.isEmpty ? nil : queue.removeFirst().question }) else { return }
    let result = lookup(question.host, question.family)
    let waiting = lock.withLock { jobs.removeValue(forKey: question)?.waiting ?? [] }
    for waiter in waiting {
      waiter.answer.answer(
        result.flatMap { addresses in
          waiter.family.select(addresses.map { $0.withPort(waiter.port) }, host: question.host)
        })
    }
  }

  /// Someone gave up. A look-up that nobody wants any more and that has not begun is dropped.
  private func abandon(_ question: Question, _ answer: PendingAnswer) {
    lock.withLock {
      guard let job = jobs[question] else { return }
      job.waiting.removeAll { $0.answer === answer }
      guard job.waiting.isEmpty, let place = queue.firstIndex(where: { $0 === job }) else { return }
      queue.remove(at: place)
      jobs[question] = nil
    }
  }
}
