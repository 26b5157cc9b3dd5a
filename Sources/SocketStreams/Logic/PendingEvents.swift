// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a client has not been told yet. Knows the order of events and which of them are told once;
// does not know statuses, threads or transports.

/// The events of one half that happened and were not delivered yet.
///
/// The data event (`hasBytesAvailable` or `canAcceptBytes`) is a latch: told once, then silent until a read or a
/// write sets it free. The others are told once in a stream's life. One terminal event ends everything.
package struct PendingEvents: Equatable, Sendable {
  /// Happened and not told, whether or not anyone wants to hear.
  package private(set) var waiting: StreamEvents = []
  /// The data event was told, and neither read nor write has followed.
  package private(set) var isAnnounced = false
  /// The terminal event was told, or the stream was closed: nothing can follow.
  package private(set) var isOver = false
  private var hasTerminal = false

  package init() {}

  /// What would be told now to a client that wants `mask`.
  package func due(_ mask: StreamEvents) -> StreamEvents { waiting.intersection(mask) }

  package mutating func openCompleted() {
    if !isOver { waiting.insert(.openCompleted) }
  }

  /// The data event's condition became true.
  package mutating func dataReady(_ event: StreamEvents) {
    if !isOver, !hasTerminal, !isAnnounced { waiting.formUnion(event) }
  }

  /// A read or a write happened; `isReady` tells whether the condition is known to hold still.
  package mutating func dataUsed(_ event: StreamEvents, isReady: Bool) {
    isAnnounced = false
    waiting.subtract(event)
    if isReady { dataReady(event) }
  }

  /// The last event of the stream: `endEncountered` or `errorOccurred`. A second one is ignored.
  package mutating func terminal(_ event: StreamEvents) {
    guard !isOver, !hasTerminal else { return }
    hasTerminal = true
    waiting.subtract([.hasBytesAvailable, .canAcceptBytes])
    waiting.formUnion(event)
  }

  /// Nothing is told any more.
  package mutating func close() {
    waiting = []
    isAnnounced = false
    isOver = true
  }

  /// Another client is set. What the last one was told and did not act upon, the new one is told again.
  package mutating func clientReplaced(_ dataEvent: StreamEvents) {
    guard isAnnounced else { return }
    isAnnounced = false
    dataReady(dataEvent)
  }

  /// Takes the next event to tell a client that wants `mask`: the lowest bit that is not in `served`.
  package mutating func next(_ mask: StreamEvents, except served: StreamEvents) -> StreamEvent? {
    let bits = due(mask).subtracting(served).rawValue
    guard bits != 0, let event = StreamEvent(rawValue: bits & (~bits &+ 1)) else { return nil }
    waiting.subtract(StreamEvents(event))
    switch event {
    case .hasBytesAvailable, .canAcceptBytes: isAnnounced = true
    case .endEncountered, .errorOccurred:
      // What nobody wanted to hear before cannot come behind the last event.
      waiting = []
      isOver = true
    case .openCompleted: break
    }
    return event
  }
}
