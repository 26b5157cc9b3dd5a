// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// From CFStream's client to the delegate of a Foundation stream: one event a call, never nested, none lost, none after the
// close. Where the stream is scheduled is in DelegateDelivery+Places.swift.

import CoreFoundation
import Foundation
import SocketStreams

/// The client of the CF stream behind a ``SocketInputStream`` or ``SocketOutputStream``, and all of that stream's state.
///
/// CFStream holds this object, not the Foundation stream, which may be dropped at any time. While there is more to tell, an
/// open and scheduled stream is kept alive here, as CFStream keeps its own.
///
/// `@unchecked Sendable`: what changes is guarded by `lock`. References are read under it and let go of outside, since the end
/// of a stream or a delegate may call back into this object. The stream itself is only passed on, to its delegate.
final class DelegateDelivery: @unchecked Sendable {
  let lock = Lock()
  /// Held while CFStream is told of a place, so that it hears of changes in the order in which they are made. Taken before
  /// ``lock``, and never while a delegate is called.
  let placing = Lock()

  /// The CF stream. `nil` after the end of the Foundation stream, so that nothing that waits on a loop keeps it.
  var handle: CFStreamHandle?
  var places: [LoopPlace] = []
  /// Otherwise whoever made the CF stream may have scheduled it, and its events are told where they come.
  var wasScheduled = false
  var isOpened: Bool
  var events: DelegateEvents
  private weak var owner: Stream?
  private weak var heldDelegate: (any StreamDelegate)?
  /// The owner, while it is kept alive.
  private var kept: Stream?
  /// This object is the client of the CF stream, and stays it: CFStream does not guard its client, and a delegate may go on
  /// any thread. The events then find nobody.
  private var hasClient = false
  /// The connection was found to be secured.
  private var isSecured = false

  init(_ handle: CFStreamHandle) {
    self.handle = handle
    events = DelegateEvents(data: handle.data)
    let status = handle.status
    isOpened = status != .notOpen
    if status == .closed { events.closed() }
  }

  /// The Foundation stream is complete.
  func begin(for owner: Stream) { lock.withLock { self.owner = owner } }

  /// The Foundation stream ends. Nobody else knows it any more.
  func end() {
    let handle = lock.withLock {
      events.closed()
      defer { self.handle = nil }
      return self.handle
    }
    guard let handle else { return }
    removeAllPlaces(from: handle)
  }

  // MARK: - The delegate

  var delegate: (any StreamDelegate)? {
    get { lock.withLock { heldDelegate } }
    set {
      noticeOpening()
      let old = delegate
      let isFirst = lock.withLock { () -> Bool in
        heldDelegate = newValue
        if newValue == nil { return false }
        if isOpened, newValue !== old { events.delegateChanged() }
        defer { hasClient = true }
        return !hasClient
      }
      change {}
      if isFirst, let handle { handle.setClient(self) }
      if newValue != nil { lookLater() }
    }
  }

  // MARK: - What the stream does

  /// The user is about to read or write.
  func dataMoves() { lock.withLock { events.dataMoved() } }

  /// The user read to the end, or into an error. Without a delegate that is all that there was to be heard.
  func foundEnd() {
    guard let status = lock.withLock({ handle })?.status, status == .atEnd || status == .error else { return }
    change { events.observed(status, hasData: false) }
  }

  func open() {
    guard let handle else { return }
    let isSecured = handle.isSecured
    lock.withLock { self.isSecured = isSecured }
    // CFStream is told of the places only now: a stream scheduled twice and never opened would leave a source behind.
    beginPlacing()
    handle.open()
    // The opening may have been over, and told on another thread, before CFStream returned.
    lookLater(elsewhere: true)
  }

  func close() {
    noticeOpening()
    guard let handle, lock.withLock({ isOpened }) else { return }
    change { events.closed() }
    // CFStream lets go of them itself.
    removeAllPlaces(from: nil)
    handle.close()
  }

  // MARK: - Delivery

  /// The client's call, on a loop of the user's.
  func happened(_ event: StreamEvent) {
    noticeSecurity()
    change {
      isOpened = true
      events.happened(event)
    }
    tell()
  }

  /// Through whichever of the two streams the connection was secured after the opening, both are told of bytes and room anew.
  private func noticeSecurity() {
    let handle = lock.withLock { isSecured || !events.isDataAhead ? nil : self.handle }
    guard let handle, handle.isSecured else { return }
    lock.withLock {
      isSecured = true
      events.secured()
    }
  }

  /// On a loop of the user's, some time after the stream was scheduled or got a delegate: what CFStream found out while it
  /// had nobody to tell, it does not tell any more.
  func look(_ place: LoopPlace) {
    let (handle, owesData) = lock.withLock { () -> (CFStreamHandle?, Bool) in
      place.isLookDue = false
      return events.isOver ? (nil, false) : (self.handle, events.owesData)
    }
    guard let handle else { return }
    let status = handle.status
    let hasData = owesData && handle.hasData
    change { events.observed(status, hasData: hasData) }
    tell()
  }

  /// Tells what is due, one event a call, if this thread's loop is where the delegate may be called.
  private func tell() {
    let here = CurrentLoop()
    while true {
      let (owner, delegate) = lock.withLock { (self.owner, heldDelegate) }
      let event = change { () -> StreamEvent? in
        guard owner != nil, delegate != nil else {
          if !events.isTelling { events.nobodyIsThere() }
          return nil
        }
        return mayTell(here) ? events.beginTelling() : nil
      }
      guard let owner, let delegate, let event else { break }
      delegate.stream(owner, handle: Stream.Event(rawValue: event.rawValue))
      change { events.finishTelling() }
    }
    if lock.withLock({ events.next != nil }) { lookLater() }
  }

  private func mayTell(_ here: CurrentLoop) -> Bool {
    if here.isInsideCall { return false }
    return wasScheduled ? places.contains { $0.loop === here.loop } : true
  }

  /// Has the loops look, later.
  /// - Parameter elsewhere: Only those of other threads.
  func lookLater(elsewhere: Bool = false) {
    let here: CFRunLoop = CFRunLoopGetCurrent()
    let due = lock.withLock { () -> [LoopPlace] in
      guard isOpened, hasClient, !events.isOver else { return [] }
      let due = places.filter { $0.isPlaced && !$0.isLookDue && !(elsewhere && $0.loop === here) }
      for place in due { place.isLookDue = true }
      return due
    }
    for place in due { place.perform { [self] in look(place) } }
  }

  // MARK: - Keeping the stream

  /// Changes the state, and does what follows from it: keeps the stream or lets go of it.
  @discardableResult
  func change<Result>(_ body: () -> Result) -> Result {
    let (result, dropped, delegate) = lock.withLock { () -> (Result, Stream?, (any StreamDelegate)?) in
      let result = body()
      // Let go of after the lock.
      let delegate = heldDelegate
      let isWaiting = isOpened && !events.isOver && !places.isEmpty
      if isWaiting, delegate != nil || !events.isEndSeen {
        if kept == nil { kept = owner }
        return (result, nil, delegate)
      }
      defer { kept = nil }
      return (result, kept, delegate)
    }
    withExtendedLifetime((dropped, delegate)) {}
    return result
  }
}
