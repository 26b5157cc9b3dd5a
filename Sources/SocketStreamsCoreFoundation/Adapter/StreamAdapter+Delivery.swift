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

  /// The stream is being opened. What has happened to it since is passed on from now on.
  final func begin() {
    change { $0.isOpened = true }
    listen()
  }

  /// The client is about to read or write.
  final func dataMoves() { lock.withLock { delivery.due.dataMoved() } }

  /// What the client was told of bytes or room does not hold any more: it is told again when they are there.
  final func dataIsOwedAgain() { change { $0.due.dataOwedAgain() } }

  /// The client, or its replacement, asks for these events.
  final func request(_ events: StreamEvents) {
    change { $0.due.request(events) }
    listen()
  }

  /// Has the core tell this adapter what it needs to know, which includes what still holds.
  private func listen() { listen(to: lock.withLock { delivery.needed }) }

  final func schedule(_ loop: CFRunLoop, _ mode: CFString) {
    // For CoreFoundation's own source only.
    if QueueLoop.isSecond(loop, mode) { return }
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
      if loop !== CFRunLoopGetCurrent() { delivery.due.dataOwedAgain() }
      delivery.placesChanged()
    }
    if let source { CFRunLoopSourceInvalidate(source) }
  }

  /// The stream was closed, by whatever thread.
  final var isClosed: Bool { lock.withLock { delivery.isFinished } }

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
    // Whoever waits here may be on the queue itself.
    if isAwaiting || !hopToQueue(from: loop) { deliver(on: loop) }
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
      pass(on: step, while: { $0.isScheduled(on: loop) }, by: handle.signal)
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

  /// - Parameter isHere: Whether the client may still be called from here.
  private func pass(
    on step: DueEvents.Step, while isHere: (Delivery) -> Bool, by signal: (StreamEvent, CFError?) -> Void
  ) {
    switch step {
    case .standIn: signal(data, nil)
    case .event(.errorOccurred): signal(.errorOccurred, stream.error?.cfError)
    case .event(data): if findData(), isDataDue(isHere) { signal(data, nil) }
    case .event(let event): signal(event, nil)
    }
  }

  /// Bytes or room are there. Whoever takes the stream off the loop from now on owes the client the event once more.
  private func isDataDue(_ isHere: (Delivery) -> Bool) -> Bool {
    lock.withLock {
      guard delivery.isLive, isHere(delivery) else {
        delivery.due.happened(data)
        return false
      }
      delivery.due.dataTold()
      return true
    }
  }

  // MARK: - On a dispatch queue

  /// - Returns: Whether the stream is on a queue, so that `loop`, this thread's, is that of CoreFoundation's thread for queues.
  private func hopToQueue(from loop: CFRunLoop) -> Bool {
    if QueueLoop.isOther(than: loop) { return false }
    return QueueLoop.changes.withLock {
      guard let queue = unsafe handle.copyQueue() else { return false }
      QueueLoop.learn(loop)
      let (number, wake) = lock.withLock { delivery.nextHop() }
      if let number {
        let hop = unsafe Unmanaged.passRetained(QueueHop(self, number))
        unsafe SocketStreamsRunOnQueue(queue, hop.toOpaque()) { hop in
          let hop = unsafe Unmanaged<QueueHop>.fromOpaque(hop).takeRetainedValue()
          hop.adapter.takeStep(hop.number)
        }
      }
      unsafe SocketStreamsReleaseQueue(queue)
      wake?.perform()
      return true
    }
  }

  /// On the queue: passes on one event. The client is called from CoreFoundation's thread by way of the queue.
  fileprivate func takeStep(_ number: Int) {
    lock.lock()
    guard delivery.isOn(number), delivery.isLive, let stream = delivery.kept, let step = delivery.due.next
    else {
      delivery.hopEnded(number, hasPassedOn: false)
      return lock.unlock()
    }
    delivery.due.passedOn(step)
    // Scheduled once, a stream shares CoreFoundation's source with all the others, and waits for its turn. With a source of
    // its own it is called in the turn in which it is signalled. CFStream guards neither change nor use of that, so this is
    // done here, where the client uses the stream, and not on CoreFoundation's thread.
    let sharedLoop = delivery.hasOwnSource ? nil : delivery.places.first?.loop
    delivery.hasOwnSource = true
    lock.unlock()
    if let sharedLoop { handle.schedule(sharedLoop, QueueLoop.secondMode) }
    pass(on: step, while: { $0.isOn(number) }, by: handle.signalDelayed)
    lock.withLock { delivery.wakeOfWaiting }?.perform()
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
