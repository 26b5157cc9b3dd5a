// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Which events a Foundation stream still owes its delegate, and in which order. CFStream forgets what happens while nobody
// listens, and the delegate may be gone at any time: so what was told is kept here, and the rest follows from the status.

import SocketStreams

struct DelegateEvents: Equatable {
  /// The event that a read or a write asks for again.
  let data: StreamEvent
  private var due: StreamEvents = []
  private var isOpenTold = false
  /// The delegate has heard of bytes or room, and nobody has read or written since.
  private var isDataTold = false
  /// Bytes or room may have been announced to nobody, or to another delegate.
  private(set) var owesData = false
  /// ``data`` is due or told, and CFStream may be about to tell the same.
  private(set) var isDataAhead = false
  /// A delegate is being called. The next event waits until it returns, nested run loops included.
  private(set) var isTelling = false
  /// The terminal event came, whether or not anyone was there to hear of it.
  private(set) var isEndSeen = false
  /// The delegate has heard of the terminal event.
  private(set) var isEndTold = false
  private(set) var isClosed = false

  init(data: StreamEvent) { self.data = data }

  /// Whether there will be nothing more to tell.
  var isOver: Bool { isClosed || isEndTold }

  // MARK: - What happens

  /// CFStream tells of an event.
  mutating func happened(_ event: StreamEvent) {
    if isOver || event == .openCompleted && isOpenTold { return }
    if event == data, isDataAhead {
      isDataAhead = false
      return
    }
    if event == .errorOccurred || event == .endEncountered { isEndSeen = true }
    due.insert(StreamEvents(event))
  }

  /// CFStream was asked how the stream is. What follows from that may never be told by CFStream itself.
  /// - Parameter hasData: Whether bytes or room are there.
  mutating func observed(_ status: StreamStatus, hasData: Bool) {
    if isOver { return }
    switch status {
    case .notOpen, .opening, .closed: return
    case .open, .reading, .writing:
      if !isOpenTold { due.insert(.openCompleted) }
      guard owesData, hasData else { return }
      owesData = false
      if !due.contains(StreamEvents(data)) { isDataAhead = true }
      due.insert(StreamEvents(data))
    case .atEnd: due.insert(.endEncountered)
    case .error: due.insert(.errorOccurred)
    }
    if status == .atEnd || status == .error { isEndSeen = true }
  }

  /// The user reads or writes: what the delegate was to be told of that, the user finds out.
  mutating func dataMoved() {
    due.remove(StreamEvents(data))
    isDataTold = false
    owesData = false
    isDataAhead = false
  }

  /// There is another delegate, which has not heard of bytes or room that wait.
  mutating func delegateChanged() {
    isDataTold = false
    owesData = true
    isDataAhead = false
  }

  /// The stream is scheduled again. CFStream may tell once more of bytes or room that it told of before.
  mutating func scheduledAgain() {
    if isDataTold || due.contains(StreamEvents(data)) { isDataAhead = true }
  }

  /// The connection has been secured meanwhile: what CFStream tells now of bytes or room, it did not tell before.
  mutating func secured() { isDataAhead = false }

  /// The wall: nothing is told afterwards.
  mutating func closed() {
    isClosed = true
    due = []
  }

  // MARK: - Telling

  /// What to tell now: that the stream is open first, even if CFStream skipped that; then bytes or room; then the end.
  var next: StreamEvent? {
    if isTelling || isOver || due.isEmpty { return nil }
    if due.contains(.errorOccurred) {
      return due.contains(.openCompleted) && !isOpenTold ? .openCompleted : .errorOccurred
    }
    if !isOpenTold { return .openCompleted }
    return due.contains(StreamEvents(data)) ? data : .endEncountered
  }

  /// ``next`` is being told, until ``finishTelling()``.
  mutating func beginTelling() -> StreamEvent? {
    guard let event = next else { return nil }
    isTelling = true
    due.remove(StreamEvents(event))
    switch event {
    case .openCompleted: isOpenTold = true
    case .errorOccurred, .endEncountered:
      isEndTold = true
      due = []
    default:
      isDataTold = true
      owesData = false
    }
    return event
  }

  mutating func finishTelling() { isTelling = false }

  /// Nobody is there to be told. What happened to the status can be asked for again.
  mutating func nobodyIsThere() {
    if due.contains(StreamEvents(data)) { owesData = true }
    due = []
  }
}
