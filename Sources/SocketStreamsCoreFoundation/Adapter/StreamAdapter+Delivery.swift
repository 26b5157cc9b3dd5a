// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// From the library's thread to the client's: latch, signal, and pass on one event a call.

import CoreFoundation
import SocketStreams

extension StreamAdapter {
  // MARK: - On the library's thread

  /// The core's stream has news.
  final func happened(_ event: StreamEvent) {
    lock.withLock {
      delivery.due.happened(event)
      if delivery.isLive, delivery.due.next != nil { delivery.wake() }
    }
  }

  // MARK: - In the client's calls. Nothing is passed on in these.

  /// The stream is being opened: what happened to it since, too, is passed on from now on.
  final func begin() { change { $0.isOpened = true } }

  /// The client is about to read or write.
  final func dataMoves() { lock.withLock { delivery.due.dataMoved() } }

  /// The client, or its replacement, asks for these events. What still holds is told to it, too.
  final func request(_ events: StreamEvents) {
    let holds = !events.isEmpty && lock.withLock { delivery.due.isDataTold } && findData()
    change { delivery in
      delivery.due.request(events)
      if holds { delivery.due.happened(data) }
    }
  }

  final func schedule(_ loop: CFRunLoop, _ mode: CFString) {
    let source = lock.withLock { () -> CFRunLoopSource? in
      if delivery.isFinished { return nil }
      if delivery.source == nil { delivery.source = makeSource() }
      return delivery.source
    }
    guard let source else { return }
    CFRunLoopAddSource(loop, source, mode)
    change { delivery in
      if !delivery.places.contains(where: { $0.loop === loop && CFEqual($0.mode, mode) }) {
        delivery.places.append(Delivery.Place(loop: loop, mode: mode))
      }
      delivery.placesChanged()
    }
  }

  final func unschedule(_ loop: CFRunLoop, _ mode: CFString) {
    if let source = lock.withLock({ delivery.source }) { CFRunLoopRemoveSource(loop, source, mode) }
    change { delivery in
      delivery.places.removeAll { $0.loop === loop && CFEqual($0.mode, mode) }
      // Its own thread may be passing on an event at this moment, which CFStream then throws away, as it has no source.
      if loop !== CFRunLoopGetCurrent(), delivery.due.isDataTold { delivery.due.happened(data) }
      delivery.placesChanged()
    }
  }

  final var isClosed: Bool { lock.withLock { delivery.isFinished } }

  /// The stream was closed, or is gone.
  final func finish() {
    let source = lock.withLock {
      delivery.isFinished = true
      delivery.places = []
      defer { delivery.source = nil }
      return delivery.source
    }
    if let source { CFRunLoopSourceInvalidate(source) }
    change { _ in }
  }

  /// Changes the state, and does what follows from it: keeps the stream or lets go of it, and wakes the client's loops.
  private func change(_ body: (inout Delivery) -> Void) {
    let dropped = lock.withLock { () -> AnyObject? in
      body(&delivery)
      if delivery.isLive {
        if delivery.kept == nil { unsafe delivery.kept = identity?.takeUnretainedValue() }
        if delivery.due.next != nil { delivery.wake() }
        return nil
      }
      if delivery.isDelivering { return nil }
      defer { delivery.kept = nil }
      return delivery.kept
    }
    // Its end may call back into this adapter.
    withExtendedLifetime(dropped) {}
  }

  // MARK: - On a loop of the client's

  /// The source's work: passes on what is due, each event at most once, so that other sources get their turn.
  final func perform() {
    lock.lock()
    // A nested loop in a callback: the outer call looks again.
    let stream = delivery.isLive && !delivery.isDelivering ? delivery.kept : nil
    lock.unlock()
    guard let stream else { return }
    if !hopToQueue() { deliver(on: CFRunLoopGetCurrent()) }
    withExtendedLifetime(stream) {}
  }

  private func deliver(on loop: CFRunLoop) {
    lock.lock()
    if delivery.isDelivering { return lock.unlock() }
    delivery.isDelivering = true
    var told: [DueEvents.Step] = []
    while delivery.isLive, delivery.isScheduled(on: loop), let step = delivery.due.next, !told.contains(step)
    {
      told.append(step)
      delivery.due.passedOn(step)
      lock.unlock()
      pass(on: step, by: signal)
      lock.lock()
    }
    delivery.isDelivering = false
    lock.unlock()
    change { _ in }
  }

  private func pass(on step: DueEvents.Step, by signal: (StreamEvent, CFError?) -> Void) {
    switch step {
    case .standIn: signal(data, nil)
    case .event(.errorOccurred): signal(.errorOccurred, stream.error?.cfError)
    case .event(data):
      if findData() { signal(data, nil) } else { lock.withLock { delivery.due.dataHadGone() } }
    case .event(let event): signal(event, nil)
    }
  }

  // MARK: - On a dispatch queue

  /// Held while a stream gets a queue or loses it, and while it is asked for that: CFStream first schedules the stream on its
  /// thread for queues, and sets the queue then. Taken before all others, and never while a client is called.
  private static let queueChanges = Lock()

  /// Gives a stream a queue, or takes it.
  static func changeQueue(_ change: () -> Void) { queueChanges.withLock(change) }

  /// - Returns: Whether the stream is on a queue, so that this is the loop of CoreFoundation's thread for queues.
  private func hopToQueue() -> Bool {
    Self.queueChanges.withLock {
      guard let queue = unsafe copyQueue() else { return false }
      if let number = lock.withLock({ delivery.nextHop() }) {
        let hop = unsafe Unmanaged.passRetained(QueueHop(self, number))
        unsafe SocketStreamsRunOnQueue(queue, hop.toOpaque()) { hop in
          let hop = unsafe Unmanaged<QueueHop>.fromOpaque(hop).takeRetainedValue()
          hop.adapter.takeStep(hop.number)
        }
      }
      unsafe SocketStreamsReleaseQueue(queue)
      return true
    }
  }

  /// A second place on that loop, which is the first once more: the default mode is one of the common ones. A mode of its own
  /// would cost descriptors, without which CoreFoundation ends the process.
  private static var secondMode: CFString { kCFRunLoopCommonModes }

  /// On the queue: passes on one event. The client is called from CoreFoundation's thread by way of the queue.
  fileprivate func takeStep(_ number: Int) {
    lock.lock()
    guard delivery.hop == .onQueue(number), delivery.isLive, let stream = delivery.kept,
      let step = delivery.due.next
    else {
      delivery.hopEnded(number, hasPassedOn: false)
      return lock.unlock()
    }
    delivery.due.passedOn(step)
    // Scheduled once, a stream shares CoreFoundation's source with all the others, and waits for its turn. With a source of
    // its own it is called in the turn in which it is signalled. CFStream guards neither change nor use of that, so this is
    // done here, where the client uses the stream, and not on CoreFoundation's thread.
    let sharedLoop = delivery.places.count == 1 ? delivery.places[0].loop : nil
    lock.unlock()
    if let sharedLoop { scheduleStream(sharedLoop, Self.secondMode) }
    pass(on: step, by: signalDelayed)
    change { $0.hopEnded(number, hasPassedOn: true) }
    withExtendedLifetime(stream) {}
  }

  // MARK: - The source

  /// Behind CoreFoundation's own, so that an event which that owes comes first.
  private static var sourceOrder: CFIndex { 1 }

  private func makeSource() -> CFRunLoopSource {
    var context = unsafe CFRunLoopSourceContext()
    unsafe context.info = Unmanaged.passUnretained(self).toOpaque()
    unsafe context.retain = { info in
      unsafe UnsafeRawPointer(Unmanaged<StreamAdapter>.fromOpaque(info!).retain().toOpaque())
    }
    unsafe context.release = { info in unsafe Unmanaged<StreamAdapter>.fromOpaque(info!).release() }
    unsafe context.perform = { info in
      unsafe Unmanaged<StreamAdapter>.fromOpaque(info!).takeUnretainedValue().perform()
    }
    return unsafe CFRunLoopSourceCreate(nil, Self.sourceOrder, &context)!
  }
}

/// What ``StreamAdapter/takeStep(_:)`` needs, on its way to a queue.
private final class QueueHop {
  let adapter: StreamAdapter
  let number: Int

  init(_ adapter: StreamAdapter, _ number: Int) {
    self.adapter = adapter
    self.number = number
  }
}
