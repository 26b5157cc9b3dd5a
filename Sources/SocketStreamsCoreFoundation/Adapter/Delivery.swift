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
    /// ``StreamAdapter/takeStep(_:)`` with this number is on the queue.
    case onQueue(Int)
    /// The thread's loop has to turn so often until CFStream's own source was performed.
    case settling(turns: Int)
  }

  var due: DueEvents
  /// Where the stream is scheduled, each place once.
  var places: [Place] = []
  /// Performed on the client's loops. `nil` before the stream was first scheduled, and after its end.
  var source: CFRunLoopSource?
  private(set) var hop = Hop.none
  private var hops = 0
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
    // What is on its way to a queue does nothing when it gets there: that queue is not this stream's any more.
    if places.isEmpty { hop = .none }
  }

  // MARK: - On a dispatch queue

  /// - Returns: The number of a hop that begins now, if it is time for one.
  mutating func nextHop() -> Int? {
    switch hop {
    case .onQueue: return nil
    case .settling(let turns) where turns > 0:
      hop = .settling(turns: turns - 1)
      wake()
      return nil
    case .none where due.next == nil: return nil
    default:
      hops += 1
      hop = .onQueue(hops)
      return hops
    }
  }

  /// The hop with that number has passed on an event, or found nothing to pass on.
  mutating func hopEnded(_ number: Int, hasPassedOn: Bool) {
    guard hop == .onQueue(number) else { return }
    hop = hasPassedOn ? .settling(turns: 1) : .none
    // In the turn in which this is seen, CoreFoundation's source may have been passed by already; in the next it was not.
    if hasPassedOn { wake() }
  }

  // MARK: - The loops

  /// Has the client's loops look.
  func wake() {
    guard let source else { return }
    CFRunLoopSourceSignal(source)
    // The source alone does not wake a loop that sleeps.
    for place in places { CFRunLoopWakeUp(place.loop) }
  }
}
