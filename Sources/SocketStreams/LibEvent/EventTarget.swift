// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What libevent's events call: one object, one function. EventHandle.swift has the trampoline that gets here.
internal import CLibEvent

/// What an event is asked to report, and what it reports. Raw values equal libevent's `EV_…`.
struct EventFlags: OptionSet, Sendable {
  let rawValue: Int16

  /// The time that the event was added with has passed.
  static let timeout = Self(rawValue: Int16(EV_TIMEOUT))
  /// A read would not block: bytes, the end, or an error.
  static let readable = Self(rawValue: Int16(EV_READ))
  /// A write would not block: room, or an error.
  static let writable = Self(rawValue: Int16(EV_WRITE))
  /// The process got the signal that stands in the place of the descriptor.
  static let signal = Self(rawValue: Int16(EV_SIGNAL))
  /// Stay added after firing.
  static let persist = Self(rawValue: Int16(EV_PERSIST))
  /// Report changes instead of states; every event of the descriptor on that loop has to agree.
  static let edgeTriggered = Self(rawValue: Int16(EV_ET))
  /// The peer sends no more. Level-triggered; only where ``LoopHandle/reportsEarlyClose``.
  static let closed = Self(rawValue: Int16(EV_CLOSED))
}

/// What libevent events call. A class, so that its pointer can be the context of the C callback, *lent*: the
/// owner frees its events on the loop's thread before the target goes.
///
/// `@unchecked Sendable`: this class has one field, which only the loop's thread touches; each subclass adds
/// its own proof.
class EventTarget: @unchecked Sendable {
  /// The adopted loop on which this target has events: each of them tells it which thread the host runs it
  /// on.
  final var hostLoop: LoopHandle?

  init() {}

  /// Whether nothing touches the target any more once ``eventFired(_:)`` has let go of the last reference to it. Then the
  /// trampoline does not hold it during the call, which would cost 40 instructions.
  var letsGoLast: Bool { false }

  /// An event fired. Called on the loop's thread, no lock held, never nested in another call from the same
  /// loop.
  func eventFired(_ flags: EventFlags) {}
}
