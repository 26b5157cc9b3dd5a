// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a client has not been told yet. Knows the order of events and which of them are told once;
// does not know statuses, threads or transports.

/// The events of one half that happened and were not delivered yet.
///
/// The data event (`hasBytesAvailable` or `canAcceptBytes`) is a latch: told once, then silent until a read or a
/// write sets it free. The others are told once in a stream's life. One terminal event ends everything.
package struct PendingEvents: Equatable, Sendable {
  /// The events that wait, and three marks, in one byte: it is looked at and changed some ten times in a round trip.
  private var bits: UInt8 = 0

  private static let events: UInt8 = 0x1f
  /// The data event was told, and neither read nor write has followed.
  private static let announced: UInt8 = 0x20
  /// The terminal event was told, or the stream was closed.
  private static let over: UInt8 = 0x40
  /// The terminal event has happened.
  private static let ending: UInt8 = 0x80

  package init() {}

  /// Happened and not told, whether or not anyone wants to hear.
  package var waiting: StreamEvents { StreamEvents(rawValue: UInt(bits & Self.events)) }
  /// The data event was told, and neither read nor write has followed.
  package var isAnnounced: Bool { bits & Self.announced != 0 }
  /// The terminal event was told, or the stream was closed: nothing can follow.
  package var isOver: Bool { bits & Self.over != 0 }
  /// The data event, whichever of the two this half has, was neither told nor is it waiting to be told.
  package var isSilent: Bool {
    bits & (Self.announced | Self.bits([.hasBytesAvailable, .canAcceptBytes])) == 0
  }

  private static func bits(_ events: StreamEvents) -> UInt8 { UInt8(truncatingIfNeeded: events.rawValue) }

  /// What would be told now to a client that wants `mask`.
  package func due(_ mask: StreamEvents) -> StreamEvents { waiting.intersection(mask) }

  package mutating func openCompleted() {
    if !isOver { bits |= Self.bits(.openCompleted) }
  }

  /// The data event's condition became true.
  package mutating func dataReady(_ event: StreamEvents) {
    if bits & ~Self.events == 0 { bits |= Self.bits(event) }
  }

  /// A read or a write happened; `isReady` tells whether the condition is known to hold still.
  package mutating func dataUsed(_ event: StreamEvents, isReady: Bool) {
    bits &= ~(Self.announced | Self.bits(event))
    if isReady { dataReady(event) }
  }

  /// The last event of the stream: `endEncountered` or `errorOccurred`. A second one is ignored.
  package mutating func terminal(_ event: StreamEvents) {
    guard bits & (Self.over | Self.ending) == 0 else { return }
    bits &= ~Self.bits([.hasBytesAvailable, .canAcceptBytes])
    bits |= Self.ending | Self.bits(event)
  }

  /// Nothing is told any more.
  package mutating func close() { bits = Self.over | bits & Self.ending }

  /// Another client is set. What the last one was told and did not act upon, the new one is told again.
  package mutating func clientReplaced(_ dataEvent: StreamEvents) {
    guard isAnnounced else { return }
    bits &= ~Self.announced
    dataReady(dataEvent)
  }

  /// Takes the next event to tell a client that wants `mask`: the lowest bit that is not in `served`.
  @inline(__always)
  package mutating func next(_ mask: StreamEvents, except served: StreamEvents) -> StreamEvent? {
    let due = due(mask).subtracting(served).rawValue
    guard due != 0, let event = StreamEvent(rawValue: due & (~due &+ 1)) else { return nil }
    switch event {
    case .hasBytesAvailable, .canAcceptBytes:
      bits &= ~Self.bits(StreamEvents(event))
      bits |= Self.announced
    case .endEncountered, .errorOccurred:
      // What nobody wanted to hear before cannot come behind the last event.
      bits = bits & ~Self.events | Self.over
    case .openCompleted: bits &= ~Self.bits(.openCompleted)
    }
    return event
  }
}
