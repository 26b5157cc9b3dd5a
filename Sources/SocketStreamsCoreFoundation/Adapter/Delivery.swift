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
    case none
    /// ``StreamAdapter/takeStep()`` is on the queue.
    case onQueue
    /// The thread's loop has to turn so often until CFStream's own source was performed.
    case settling(turns: Int)
  }

  var due: DueEvents
  /// Where the stream is scheduled, each place once.
  var places: [Place] = []
  /// Performed on the client's loops. `nil` before the stream was first scheduled, and after its end.
  var source: CFRunLoopSource?
  var hop = Hop.none
  var isOpened = false
  var isFinished = false
  var isDelivering = false
  /// The CF stream while this adapter keeps it alive, for the time in which it may be performed: open, scheduled, and with
  /// events still to come.
  var kept: AnyObject?

  init(due: DueEvents) { self.due = due }

  /// Whether the stream may be called for an event.
  var isLive: Bool { isOpened && !isFinished && !due.isOver && !places.isEmpty }

  func isScheduled(on loop: CFRunLoop) -> Bool { places.contains { $0.loop === loop } }

  /// CFStream has its user's thread wait for the opening by running this mode.
  static var awaitingMode: CFString { "_kCFStreamBlockingOpenMode".cfString }

  mutating func placesChanged() {
    due.isOpeningAwaited = places.contains { CFEqual($0.mode, Self.awaitingMode) }
    if places.isEmpty, hop != .onQueue { hop = .none }
  }

  /// Has the client's loops look.
  func wake() {
    guard let source else { return }
    CFRunLoopSourceSignal(source)
    // The source alone does not wake a loop that sleeps.
    for place in places { CFRunLoopWakeUp(place.loop) }
  }
}
