// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How a loop ends: jobs, then items, then the base; what is asked of it afterwards is the shared loop's
// business.

extension EventLoop {
  /// Ends the loop for good: now if nobody runs it, otherwise soon. Any thread; called when its EventBase
  /// goes.
  func requestEnd() {
    gate.lock()
    guard gate.state.holder != .ended else { return gate.unlock() }
    gate.state.endRequested = true
    if kind != .host { gate.state.stopRequested = true }
    let isIdle = gate.state.holder == .nobody
    let isEmpty = gate.state.queue.isEmpty
    if isIdle { hold(.borrowed) }
    gate.unlock()
    if isIdle {
      end(runningJobs: false)
    } else if kind != .host {
      interrupt()
    } else if isEmpty, isCurrent, inside.state.batch.isEmpty {
      end(runningJobs: true)  // now, as the host may free its base next; no closure is run by this release
    } else {
      wakeDescriptor.signal()
    }
  }

  /// Ends the use of a host's base now. On the thread that runs it, or while nobody does; a second call does
  /// nothing.
  func invalidate() {
    guard kind == .host else { return requestEnd() }
    gate.lock()
    guard gate.state.holder != .ended else { return gate.unlock() }
    hold(.running)
    gate.unlock()
    end(runningJobs: true)
  }

  /// Tells every item, frees what is on the base, and passes what is still queued on to ``shared``. By the
  /// holder only.
  func end(runningJobs: Bool) {
    // Jobs that queue jobs get some passes; one that does so for ever goes on elsewhere.
    for _ in 0..<(runningJobs ? 16 : 1) {
      if runningJobs { drain() }
      endItems()
      if gate.withLock({ $0.queue.isEmpty }) { break }
    }
    freeEvents()

    var successor: EventLoop?
    gate.lock()
    if !(gate.state.queue.isEmpty && gate.state.lent.isEmpty) {
      gate.unlock()
      successor = EventLoop.shared  // may start a thread, so not under the lock
      gate.lock()
    }
    let left = gate.state.lent + gate.state.queue.takeAll()
    gate.state.lent = []
    gate.state.holder = .ended
    handle.threadID = LoopHandle.ended
    // Under the lock: what others ask from now on comes after what was asked of this loop.
    successor?.enqueue(left.filter { !$0.diesWithLoop })
    changed.broadcast()
    gate.unlock()
    // Items that were woken and are on no registry yet would never hear of it otherwise.
    for case .service(let item) in left { item.loopWillEnd(self) }
    keepAlive = nil
  }

  func freeEvents() {
    inside.state.wakeEvent = nil
    inside.state.laterEvent = nil
    inside.state.deadlineTimer = nil
    handle.free()
  }

  private func endItems() {
    while let item = inside.state.registry.last {
      unregister(item)
      item.loopWillEnd(self)
    }
  }
}
