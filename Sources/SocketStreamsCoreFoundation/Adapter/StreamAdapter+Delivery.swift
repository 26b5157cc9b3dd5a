// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// From the library's thread to the client's: latch, signal, and pass on one event a call.

import CoreFoundation
import SocketStreams

extension StreamAdapter {
  // MARK: - On the library's thread

  /// The core's stream has news.
  final func happened(_ event: StreamEvent) {
    let wake = lock.withLock {
      delivery.due.happened(event)
      return delivery.wake
    }
    wake?.perform()
  }

  // MARK: - In the client's calls. Nothing is passed on in these.

  final func begin() {
    change { $0.isOpened = true }
    listen()
  }

  /// It could not be opened, and CFStream says so itself.
  final func giveUp() { change { $0.isOpened = false } }

  /// The client is about to read or write.
  final func dataMoves() { lock.withLock { delivery.due.dataMoved() } }

  /// The client, or its replacement, asks for these events.
  final func request(_ events: StreamEvents) {
    change { $0.due.request(events) }
    listen()
  }

  /// Has the core tell this adapter what it needs to know, which includes what still holds.
  private func listen() { listen(to: lock.withLock { delivery.needed }) }

  final func schedule(_ loop: CFRunLoop, _ mode: CFString) {
    let isNew = lock.withLock { !delivery.isFinished && !delivery.places.contains { $0.isAt(loop, mode) } }
    guard isNew else { return }
    let source = makeSource()
    CFRunLoopAddSource(loop, source, mode)
    change { delivery in
      delivery.places.append(Delivery.Place(loop: loop, mode: mode, source: source))
      delivery.placesChanged()
    }
    if lock.withLock({ delivery.due.isOpeningAwaited }) { listen() }
  }

  final func unschedule(_ loop: CFRunLoop, _ mode: CFString) {
    var source: CFRunLoopSource?
    change { delivery in
      guard let index = delivery.places.firstIndex(where: { $0.isAt(loop, mode) }) else { return }
      source = delivery.places.remove(at: index).source
      // Its own thread may be passing on an event at this moment, which CFStream then throws away, as it has no source.
      if loop !== CFRunLoopGetCurrent(), delivery.due.isDataTold { delivery.due.happened(data) }
      delivery.placesChanged()
    }
    if let source { CFRunLoopSourceInvalidate(source) }
  }

  /// The stream was closed, or is gone.
  final func finish() {
    var places: [Delivery.Place] = []
    change { delivery in
      delivery.isFinished = true
      swap(&places, &delivery.places)
    }
    for place in places { CFRunLoopSourceInvalidate(place.source) }
  }

  /// Changes the state, and does what follows from it: keeps the stream or lets go of it, and wakes the client's loops.
  private func change(_ body: (inout Delivery) -> Void) {
    let (dropped, wake) = lock.withLock { () -> (AnyObject?, Delivery.Wake?) in
      body(&delivery)
      if delivery.isLive {
        if delivery.kept == nil { unsafe delivery.kept = identity?.takeUnretainedValue() }
        return (nil, delivery.wake)
      }
      if delivery.isDelivering { return (nil, nil) }
      defer { delivery.kept = nil }
      return (delivery.kept, nil)
    }
    wake?.perform()
    // Its end may call back into this adapter.
    withExtendedLifetime(dropped) {}
  }

  // MARK: - On a loop of the client's

  /// The source's work: passes on what is due, each event at most once, so that other sources get their turn.
  final func perform() {
    let loop = CFRunLoopGetCurrent()!
    let (stream, isAwaiting) = lock.withLock {
      // A nested loop in a callback: the outer call looks again.
      (delivery.isLive && !delivery.isDelivering ? delivery.kept : nil, delivery.isAwaiting(on: loop))
    }
    guard let stream else { return }
    if isAwaiting {
      // Whoever waits here may be on the queue itself.
      deliver(on: loop)
    } else if let queue = unsafe copyQueue() {
      // Not under the lock: CFStream has one of its own, under which it may call this adapter.
      unsafe deliver(onQueue: queue, from: loop)
      unsafe SocketStreamsReleaseQueue(queue)
    } else if QueueLoop.isKnown(loop) {
      // CFStream schedules before it stores the queue.
      change { _ in }
    } else {
      deliver(on: loop)
    }
    withExtendedLifetime(stream) {}
  }

  private func deliver(on loop: CFRunLoop) {
    lock.lock()
    if delivery.isDelivering { return lock.unlock() }
    delivery.isDelivering = true
    var told: StreamEvents = []
    // After the opening the other half has its turn: both halves tell of that before either tells of more.
    while !told.contains(.openCompleted), delivery.isLive, delivery.isScheduled(on: loop),
      let step = delivery.due.next,
      told.insert(StreamEvents(event(of: step))).inserted
    {
      delivery.due.passedOn(step)
      lock.unlock()
      pass(on: step, by: signal)
      lock.lock()
    }
    delivery.isDelivering = false
    let waiting = told.isEmpty ? nil : delivery.wakeOfWaiting
    lock.unlock()
    waiting?.perform()
    change { _ in }
  }

  /// What CFStream is signalled for `step`.
  private func event(of step: DueEvents.Step) -> StreamEvent {
    switch step {
    case .standIn: data
    case .event(let event): event
    }
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

  /// On the loop of CoreFoundation's thread for queues.
  private func deliver(onQueue queue: UnsafeMutableRawPointer, from loop: CFRunLoop) {
    QueueLoop.learn(loop)
    let (isDue, wake) = lock.withLock { () -> (Bool, Delivery.Wake?) in
      guard delivery.due.next != nil, case .here(let turns) = delivery.hop else { return (false, nil) }
      delivery.hop = turns > 0 ? .here(turns: turns - 1) : .onQueue
      return turns > 0 ? (false, delivery.wake) : (true, nil)
    }
    wake?.perform()
    guard isDue else { return }
    unsafe SocketStreamsRunOnQueue(queue, Unmanaged.passRetained(self).toOpaque()) { adapter in
      unsafe Unmanaged<StreamAdapter>.fromOpaque(adapter).takeRetainedValue().takeStep()
    }
  }

  /// A mode that no loop runs in.
  private static var ownSourceMode: CFString { "SocketStreamsOwnSource".cfString }

  /// On the queue: passes on one event. The client is called from CoreFoundation's thread by way of the queue.
  private func takeStep() {
    takeOwnSource()
    lock.lock()
    guard delivery.isLive, let stream = delivery.kept, let step = delivery.due.next else {
      delivery.hop = .here(turns: 0)
      return lock.unlock()
    }
    delivery.due.passedOn(step)
    lock.unlock()
    pass(on: step, by: signalDelayed)
    lock.withLock { delivery.wakeOfWaiting }?.perform()
    // In the turn in which this is seen, CoreFoundation's source may have been passed by already; in the next it was not.
    change { $0.hop = .here(turns: 1) }
    withExtendedLifetime(stream) {}
  }

  /// Scheduled once, a stream shares CoreFoundation's source with all the others, and waits for its turn. With a source of its
  /// own it is called in the turn in which it is signalled.
  private func takeOwnSource() {
    let (stream, loop) = lock.withLock { () -> (AnyObject?, CFRunLoop?) in
      (delivery.kept, delivery.isLive && delivery.places.count == 1 ? delivery.places[0].loop : nil)
    }
    if let loop { scheduleStream(loop, Self.ownSourceMode) }
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
