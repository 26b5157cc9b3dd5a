// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a half's client is called, and what it is to be told.

import CoreFoundation
import SocketStreams

/// The state of a half's delivery.
@safe
struct Delivery {
  /// A run loop, in one of its modes.
  struct Place {
    let loop: CFRunLoop
    let mode: CFString
  }

  /// How far the delivery on a dispatch queue is. CFStream calls the client there by way of a thread of its own; the next
  /// event is passed on only when the call for the one before has been put on the queue.
  enum Hop: Equatable {
    /// The loop of that thread has to turn so often until CFStream's own source was performed.
    case here(turns: Int)
    /// ``StreamAdapter/takeStep()`` is on the queue.
    case onQueue
  }

  var due: DueEvents
  /// Where the stream is scheduled, each place once.
  var places: [Place] = []
  /// Performed on the client's loops. `nil` before the stream was first scheduled, and after its end.
  var source: CFRunLoopSource?
  var hop = Hop.here(turns: 0)
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
  }

  /// What has the client's loops look, if there is something to see.
  var wake: Wake? {
    guard isLive, due.next != nil, let source else { return nil }
    return Wake(source: source, places: places)
  }

  /// Done with no lock held: the loops that it wakes ask for it at once.
  struct Wake {
    fileprivate let source: CFRunLoopSource
    fileprivate let places: [Place]

    func perform() {
      CFRunLoopSourceSignal(source)
      // The source alone does not wake a loop that sleeps.
      for place in places { CFRunLoopWakeUp(place.loop) }
    }
  }
}
