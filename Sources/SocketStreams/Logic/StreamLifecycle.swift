// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The life of one half: status, client mask and what is due. Functions are named by what happened; each answers with
// what its owner has to do. No thread, no lock, no transport is known here.

/// What the owner of a lifecycle has to do.
package struct StreamEffects: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The client has something to hear: get to the half's loop and call it.
  package static let deliver = Self(rawValue: 1)
  /// The half wants to hear from its transport when bytes arrive.
  package static let watch = Self(rawValue: 2)
  /// The half is alive on its loop: open, opening, or with something left to tell.
  package static let stayOnLoop = Self(rawValue: 4)
}

/// The life of one half of a pair.
package struct StreamLifecycle: Equatable, Sendable {
  package enum Direction: Sendable { case reading, writing }

  package let direction: Direction
  package private(set) var status: StreamStatus = .notOpen
  private var maskBits: UInt8 = 0
  package private(set) var events = PendingEvents()

  package init(_ direction: Direction) { self.direction = direction }

  /// What the client wants to hear.
  package private(set) var mask: StreamEvents {
    get { StreamEvents(rawValue: UInt(maskBits)) }
    set { maskBits = UInt8(truncatingIfNeeded: newValue.rawValue) }
  }

  private var dataEvent: StreamEvents { direction == .reading ? .hasBytesAvailable : .canAcceptBytes }

  /// What has to be done now. Levels, not edges: asking twice answers the same.
  package var effects: StreamEffects {
    var effects: StreamEffects = []
    if !events.due(mask).isEmpty { effects.formUnion([.deliver, .stayOnLoop]) }
    switch status {
    case .opening: effects.insert(.stayOnLoop)
    case .open:
      effects.insert(.stayOnLoop)
      if isWatching { effects.insert(.watch) }
    default: break
    }
    return effects
  }

  /// Whether the half is open with nothing to tell.
  package var isQuiet: Bool { status == .open && events.due(mask).isEmpty }

  /// Whether an open half wants to hear from its transport when bytes arrive.
  package var isWatching: Bool { events.isSilent }

  /// Whether a client would be told of the data event if it happened.
  package var wantsData: Bool { mask.contains(dataEvent) }

  /// Whether nothing can be told any more.
  package var isOver: Bool { events.isOver }

  private mutating func change(_ change: StatusChange) -> Bool {
    guard let next = StatusTable.next(status, on: change) else { return false }
    status = next
    return true
  }

  // MARK: - What the owner of the stream did

  /// - Returns: `false` if the stream was opened before, and nothing changed.
  package mutating func open() -> Bool { change(.open) }

  /// The stream was closed. Nothing is told afterwards. A stream that was never opened stays as it is.
  package mutating func closeRequested() {
    guard status != .notOpen else { return }
    _ = change(.close)
    events.close()
  }

  @discardableResult
  package mutating func clientChanged(_ mask: StreamEvents) -> StreamEffects {
    self.mask = mask.intersection(
      direction == .reading
        ? [.openCompleted, .hasBytesAvailable, .errorOccurred, .endEncountered]
        : [.openCompleted, .canAcceptBytes, .errorOccurred, .endEncountered])
    events.clientReplaced(dataEvent)
    return effects
  }

  /// Bytes were read; `left` tells whether more are known to be there.
  @discardableResult
  package mutating func didRead(left: Bool) -> StreamEffects {
    events.dataUsed(.hasBytesAvailable, isReady: left && status == .open)
    return effects
  }

  /// Bytes were written, or the event was asked for once more; `room` tells whether a write would be taken.
  @discardableResult
  package mutating func didWrite(room: Bool) -> StreamEffects {
    events.dataUsed(.canAcceptBytes, isReady: room && status == .open)
    return effects
  }

  // MARK: - What the transport did

  /// The connection is up; `ready` tells whether the data event's condition is known to hold.
  @discardableResult
  package mutating func transportOpened(ready: Bool) -> StreamEffects {
    guard change(.transportOpened) else { return effects }
    events.openCompleted()
    if ready { events.dataReady(dataEvent) }
    return effects
  }

  @discardableResult
  package mutating func bytesArrived() -> StreamEffects {
    if status == .open { events.dataReady(.hasBytesAvailable) }
    return effects
  }

  @discardableResult
  package mutating func roomAppeared() -> StreamEffects {
    if status == .open { events.dataReady(.canAcceptBytes) }
    return effects
  }

  /// The peer sends no more, and every byte was read.
  @discardableResult
  package mutating func transportEnded() -> StreamEffects {
    if change(.transportEnded) { events.terminal(.endEncountered) }
    return effects
  }

  /// The connection failed, and every byte that had arrived was read.
  @discardableResult
  package mutating func transportFailed() -> StreamEffects {
    if change(.transportFailed) { events.terminal(.errorOccurred) }
    return effects
  }

  // MARK: - Delivery

  /// Takes the next event for the client: the lowest bit that it wants and that `served` has not.
  @inline(__always)
  package mutating func nextEvent(except served: StreamEvents) -> StreamEvent? {
    events.next(mask, except: served)
  }
}
