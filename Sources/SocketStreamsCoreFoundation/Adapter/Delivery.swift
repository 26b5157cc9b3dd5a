// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a half's client is called, and what it is to be told.

import CoreFoundation
import SocketStreams

/// The state of a half's delivery.
@safe
struct Delivery {
  /// A run loop, in one of its modes, and the source that is performed there: each has its own, as whoever performs a source
  /// takes the signal from all others.
  struct Place {
    let loop: CFRunLoop
    let mode: CFString
    let source: CFRunLoopSource

    func isAt(_ loop: CFRunLoop, _ mode: CFString) -> Bool { self.loop === loop && CFEqual(self.mode, mode) }
  }

  /// How far the delivery on a dispatch queue is. CFStream calls the client there by way of a thread of its own; the next
  /// event is passed on only when the call for the one before has been put on the queue.
  enum Hop: Equatable {
    /// The loop of that thread has to turn so often until CFStream's own source was performed.
    case here(turns: Int)
    /// ``StreamAdapter/takeStep(_:)`` with this number is on the queue.
    case onQueue(Int)
  }

  var due: DueEvents
  /// Where the stream is scheduled, each place once.
  var places: [Place] = []
  private var hop = Hop.here(turns: 0)
  private var hops = 0
  /// On a queue: CoreFoundation has a source for this stream alone.
  var hasOwnSource = false
  var isOpened = false
  var isFinished = false
  var isDelivering = false
  /// The CF stream while this adapter keeps it alive, for the time in which it may be performed: open, scheduled, and with
  /// events still to come.
  var kept: AnyObject?

  init(due: DueEvents) { self.due = due }

  /// Whether the stream may be called for an event.
  var isLive: Bool { isOpened && !isFinished && !due.isOver && !places.isEmpty }

  /// What the core has to tell. Nothing to a stream that is polled, or read and written by who waits: it is asked then.
  var needed: StreamEvents {
    guard isOpened, !isFinished, due.isOpeningAwaited || !due.wanted.isEmpty else { return [] }
    return [.openCompleted, .errorOccurred, .endEncountered, due.wanted.intersection(StreamEvents(due.data))]
  }

  func isScheduled(on loop: CFRunLoop) -> Bool { places.contains { $0.loop === loop } }

  /// CFStream has its user's thread wait for the opening by running this mode.
  static var awaitingMode: CFString { "_kCFStreamBlockingOpenMode".cfString }

  mutating func placesChanged() {
    due.isOpeningAwaited = places.contains { CFEqual($0.mode, Self.awaitingMode) }
    // What is on its way to a queue does nothing when it gets there: that queue is not this stream's any more.
    if places.isEmpty {
      hop = .here(turns: 0)
      hasOwnSource = false
    }
  }

  // MARK: - On a dispatch queue

  /// - Returns: The number of a hop that begins now, if it is time for one; else what has the loop turn once more, if it is
  ///   its turn.
  mutating func nextHop() -> (number: Int?, wake: Wake?) {
    guard due.next != nil, case .here(let turns) = hop else { return (nil, nil) }
    if turns > 0 {
      hop = .here(turns: turns - 1)
      return (nil, wake)
    }
    hops += 1
    hop = .onQueue(hops)
    return (hops, nil)
  }

  /// Whether the stream is still on the queue on which the hop with that number has come.
  func isOn(_ number: Int) -> Bool { hop == .onQueue(number) }

  /// The hop with that number has passed on an event, or found nothing to pass on.
  mutating func hopEnded(_ number: Int, hasPassedOn: Bool) {
    // In the turn in which this is seen, CoreFoundation's source may have been passed by already; in the next it was not.
    if isOn(number) { hop = .here(turns: hasPassedOn ? 1 : 0) }
  }

  // MARK: - The loops

  /// A thread waits for the opening by running this loop.
  func isAwaiting(on loop: CFRunLoop) -> Bool {
    due.isOpeningAwaited && places.contains { $0.isAt(loop, Self.awaitingMode) }
  }

  /// What has the client's loops look, if there is something to see.
  var wake: Wake? { isLive && due.next != nil ? Wake(places: places) : nil }

  /// What has threads look that wait for the opening, after somebody else was told of it.
  var wakeOfWaiting: Wake? { due.isOpeningAwaited ? Wake(places: places) : nil }

  /// Done with no lock held: the loops that it wakes ask for it at once.
  struct Wake {
    fileprivate let places: [Place]

    func perform() {
      for place in places {
        CFRunLoopSourceSignal(place.source)
        // The source alone does not wake a loop that sleeps.
        CFRunLoopWakeUp(place.loop)
      }
    }
  }
}
