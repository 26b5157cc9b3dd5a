// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Which events a stream of CoreFoundation still owes its client, and in which order.

import SocketStreams

/// What happened to one half and was not passed on yet. Passing one on makes CoreFoundation change the stream's status and
/// call the client, or throw the event away for good if nobody wants it: so it is kept here until it can be delivered.
struct DueEvents: Equatable {
  /// The event that a read or a write asks for again.
  let data: StreamEvent
  private var latched: StreamEvents = []
  private(set) var wanted: StreamEvents = []
  /// The client was called for bytes or room, and has not read or written since: nobody announces that once more.
  private(set) var isDataTold = false
  /// The client was called for an end that it does not ask for, and has not read or written since.
  private var isStandInTold = false
  /// A thread is blocked until the opening has ended.
  var isOpeningAwaited = false
  /// The opening was passed on, so that nobody has to be told of it any more.
  private var isOpeningPassedOn = false
  /// The terminal event was passed on. There is one, and nothing after it.
  private(set) var isOver = false

  init(data: StreamEvent) { self.data = data }

  /// The connection has news for this half. Of bytes or room, only if the client has moved since it was called for them: what
  /// was on its way while it moved comes twice.
  mutating func happened(_ event: StreamEvent) {
    if !isOver, event != data || !isDataTold { latched.insert(StreamEvents(event)) }
  }

  /// The client reads or writes: what it was to be told of that, it finds out itself.
  mutating func dataMoved() {
    latched.remove(StreamEvents(data))
    isDataTold = false
    isStandInTold = false
  }

  /// The client is being called for ``data``, which holds: what is there now it finds when it moves.
  mutating func dataTold() {
    latched.remove(StreamEvents(data))
    isDataTold = true
  }

  /// Whether the client was called for ``data`` is not known, so it will be called once more.
  mutating func dataOwedAgain() {
    guard isDataTold else { return }
    isDataTold = false
    latched.insert(StreamEvents(data))
  }

  /// The client asks for these events from now on; none if there is no client.
  mutating func request(_ events: StreamEvents) {
    wanted = events
    isDataTold = false
  }

  /// What to pass on now.
  enum Step: Equatable {
    /// The event, which is only true if bytes or room are still there when it is ``DueEvents/data``.
    case event(StreamEvent)
    /// ``DueEvents/data``, to make a client read or write that does not ask for the terminal event which is due.
    case standIn
  }

  /// The opening first, asked for or not, since the status changes by it; then bytes or room; then the terminal event.
  /// To a thread that waits for the opening only how that ended, client or not.
  var next: Step? {
    if isOver { return nil }
    if isOpeningAwaited {
      if latched.contains(.openCompleted) { return .event(.openCompleted) }
      return isOpeningPassedOn ? nil : terminal.map { .event($0) }
    }
    if wanted.isEmpty { return nil }
    if latched.contains(.openCompleted) { return .event(.openCompleted) }
    if latched.contains(StreamEvents(data)), wanted.contains(StreamEvents(data)) { return .event(data) }
    guard let terminal else { return nil }
    if wanted.contains(StreamEvents(terminal)) { return .event(terminal) }
    return wanted.contains(StreamEvents(data)) && !isStandInTold ? .standIn : nil
  }

  /// `step` is being passed on. Of ``data``, ``dataTold()`` says whether it still held.
  mutating func passedOn(_ step: Step) {
    switch step {
    case .standIn: isStandInTold = true
    case .event(let event):
      latched.remove(StreamEvents(event))
      if event == .openCompleted { isOpeningPassedOn = true }
      if event == .errorOccurred || event == .endEncountered { isOver = true }
    }
  }

  private var terminal: StreamEvent? {
    if latched.contains(.errorOccurred) { return .errorOccurred }
    return latched.contains(.endEncountered) ? .endEncountered : nil
  }
}
