// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How work gets to a loop: one queue of closures, executor jobs and items, in order. A pass runs what was
// there when it began; what that enqueues is for the next pass, so nothing starves the other events of the
// loop.

extension EventLoop {
  /// Has `item` serviced on the loop's thread in a later pass. Any thread, any lock held. The loop retains
  /// the item until then; a loop that has ended ignores the call. Each wake is one service: who wakes often
  /// keeps a flag of its own.
  func wake(_ item: LoopItem) { enqueue(.service(item)) }

  /// Runs `body` on the loop's thread in a later pass, in order. Any thread.
  func execute(_ body: @escaping () -> Void) { enqueue(.execute(body)) }

  /// Runs `body` while the calling or the loop's thread holds the loop: at once if that is the calling
  /// thread, or if nobody runs a loop of ours, which is then borrowed; otherwise queued. Any thread, no lock
  /// held.
  func perform(_ body: @escaping @Sendable () -> Void) {
    if isCurrent { return body() }
    gate.lock()
    switch gate.state.holder {
    case .nobody:
      hold(.borrowed)
      gate.unlock()
      body()
      endBorrow()
    case .borrowed:
      gate.state.lent.append(.perform(body))
      gate.unlock()
    case .running:
      enqueueLocked(.perform(body))
    case .ended:
      gate.unlock()
      EventLoop.shared.perform(body)
    }
  }

  /// Like ``perform(_:)``, and waits until `body` is done.
  func sync(_ body: () -> Void) {
    if isCurrent { return body() }
    gate.lock()
    switch gate.state.holder {
    case .nobody:
      hold(.borrowed)
      gate.unlock()
      body()
      endBorrow()
    case .ended:
      gate.unlock()
      EventLoop.shared.sync(body)
    case .borrowed, .running:
      let isLent = gate.state.holder == .borrowed
      withoutActuallyEscaping(body) { body in
        let job = SyncJob(body)
        if isLent {
          gate.state.lent.append(.sync(job))
          gate.unlock()
        } else {
          enqueueLocked(.sync(job))
        }
        job.wait()
      }
    }
  }

  private func enqueue(_ job: LoopJob) {
    gate.lock()
    if gate.state.holder == .ended {
      gate.unlock()
      if !job.diesWithLoop { EventLoop.shared.enqueue(job) }
    } else {
      enqueueLocked(job)
    }
  }

  /// Takes over the jobs of a loop that ends.
  func enqueue(_ jobs: [LoopJob]) {
    for job in jobs { enqueue(job) }
  }

  /// Enqueues, unlocks, and makes the loop look unless it is about to.
  @inline(__always)
  private func enqueueLocked(_ job: LoopJob) {
    gate.state.queue.append(job)
    let mustPost = !gate.state.isPosted
    gate.state.isPosted = true
    gate.unlock()
    guard mustPost else { return }
    // On the loop's thread a timer of no delay: event_active would run in this pass (2.1.12), and so starve
    // the others.
    if isCurrent { inside.state.laterEvent?.add(afterNanoseconds: 0) } else { wakeDescriptor.signal() }
  }

  /// Runs everything that is queued now, once. By the holder only; may be nested in a job of an outer call.
  /// - Returns: Whether, when it began, another thread had asked for a stop or the end.
  @discardableResult
  func drain() -> Bool {
    runBatch()  // what is left of an outer call, so that the order stays
    gate.lock()
    swap(&gate.state.queue, &inside.state.batch)
    gate.state.isPosted = false
    let mustLeave = gate.state.stopRequested || gate.state.endRequested
    gate.unlock()
    runBatch()
    return mustLeave
  }

  private func runBatch() {
    while let job = inside.state.batch.takeFirst() { run(job) }
  }

  /// Runs one job, no lock held.
  func run(_ job: LoopJob) {
    switch job {
    case .none: break
    case .execute(let body), .perform(let body): body()
    case .sync(let job): job.run()
    case .service(let item): item.service(on: self)
    case .serial(let job, let executor): unsafe job.runSynchronously(on: executor)
    case .task(let job, let executor): unsafe job.runSynchronously(on: executor)
    }
  }
}

// MARK: - Executor

extension EventLoop: SerialExecutor {
  /// Queues a step of an actor that lives on the loop.
  func enqueue(_ job: consuming ExecutorJob) {
    unsafe enqueue(LoopJob.serial(UnownedJob(job), asUnownedSerialExecutor()))
  }

  /// Queues a step of a task that prefers `executor`.
  func enqueue(_ job: consuming ExecutorJob, for executor: UnownedTaskExecutor) {
    unsafe enqueue(LoopJob.task(UnownedJob(job), executor))
  }

  func checkIsolated() { precondition(isCurrent, "not on the thread of the event base") }

  func isIsolatingCurrentContext() -> Bool? { isCurrent }
}
