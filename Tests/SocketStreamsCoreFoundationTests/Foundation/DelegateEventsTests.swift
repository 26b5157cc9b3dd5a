// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What is owed to a delegate: the bookkeeping alone.

import SocketStreams
import Testing

@testable import SocketStreamsCoreFoundation

@Suite struct DelegateEventsTests {
  private var events = DelegateEvents(data: .hasBytesAvailable)

  /// Tells everything that is due.
  private mutating func tellAll() -> [StreamEvent] {
    var told: [StreamEvent] = []
    while let event = events.beginTelling() {
      told.append(event)
      events.finishTelling()
    }
    return told
  }

  // S79
  @Test mutating func theOpeningComesFirstAndTheEndLast() {
    events.happened(.endEncountered)
    events.happened(.hasBytesAvailable)
    events.happened(.openCompleted)
    #expect(tellAll() == [.openCompleted, .hasBytesAvailable, .endEncountered])
  }

  // S50: CFStream forgets the opening if it was found out by polling.
  @Test mutating func bytesWithoutAnOpeningAreTheOpeningAndBytes() {
    events.happened(.hasBytesAvailable)
    #expect(tellAll() == [.openCompleted, .hasBytesAvailable])
    events.happened(.openCompleted)
    #expect(tellAll() == [])
  }

  // S51
  @Test mutating func aFailureBeforeTheOpeningIsAlone() {
    events.happened(.errorOccurred)
    #expect(tellAll() == [.errorOccurred])
  }

  // S94
  @Test mutating func thereIsOneTerminalEvent() {
    events.happened(.endEncountered)
    #expect(tellAll() == [.openCompleted, .endEncountered])
    events.happened(.errorOccurred)
    events.happened(.hasBytesAvailable)
    events.observed(.error, hasData: true)
    #expect(tellAll() == [])
    #expect(events.isOver)
  }

  // S95
  @Test mutating func theCloseIsAWall() {
    events.happened(.openCompleted)
    events.happened(.hasBytesAvailable)
    #expect(events.beginTelling() == .openCompleted)
    events.closed()
    events.finishTelling()
    events.happened(.endEncountered)
    #expect(tellAll() == [])
  }

  // S97
  @Test mutating func nothingIsToldWhileSomethingIsTold() {
    events.happened(.openCompleted)
    #expect(events.beginTelling() == .openCompleted)
    events.happened(.hasBytesAvailable)
    #expect(events.next == nil)
    events.finishTelling()
    #expect(events.next == .hasBytesAvailable)
  }

  // S84
  @Test mutating func aReadCancelsBytesThatAreDue() {
    events.happened(.openCompleted)
    events.happened(.hasBytesAvailable)
    events.dataMoved()
    #expect(tellAll() == [.openCompleted])
  }

  // S74
  @Test(arguments: [
    (StreamStatus.notOpen, []), (.opening, []), (.open, [StreamEvent.openCompleted]),
    (.reading, [.openCompleted]), (.atEnd, [.openCompleted, .endEncountered]), (.error, [.errorOccurred]),
    (.closed, []),
  ])
  mutating func theStatusTellsWhatWasMissed(_ status: StreamStatus, _ expected: [StreamEvent]) {
    events.observed(status, hasData: true)
    #expect(tellAll() == expected)
    events.observed(status, hasData: true)
    #expect(tellAll() == [])
  }

  // S70, S74
  @Test mutating func anotherDelegateHearsOfBytesThatWait() {
    events.happened(.openCompleted)
    events.happened(.hasBytesAvailable)
    _ = tellAll()
    events.observed(.open, hasData: true)
    #expect(tellAll() == [], "the same one has heard of them")
    events.delegateChanged()
    events.observed(.open, hasData: false)
    #expect(tellAll() == [])
    events.observed(.open, hasData: true)
    #expect(tellAll() == [.hasBytesAvailable])
    events.happened(.hasBytesAvailable)
    #expect(tellAll() == [], "CFStream tells of the same bytes")
    events.happened(.hasBytesAvailable)
    #expect(tellAll() == [.hasBytesAvailable])
  }

  // S111: CFStream may tell once more of what it told before a move.
  @Test mutating func aMoveRepeatsNothing() {
    events.happened(.openCompleted)
    events.scheduledAgain()
    events.happened(.hasBytesAvailable)
    events.scheduledAgain()
    events.happened(.hasBytesAvailable)
    #expect(tellAll() == [.openCompleted, .hasBytesAvailable], "due before the move")
    events.scheduledAgain()
    events.happened(.hasBytesAvailable)
    #expect(tellAll() == [], "told before the move")
    events.scheduledAgain()
    events.dataMoved()
    events.happened(.hasBytesAvailable)
    #expect(tellAll() == [.hasBytesAvailable], "other bytes")
  }

  // S216
  @Test mutating func whatNobodyHeardIsFoundOutAgain() {
    events.happened(.openCompleted)
    events.happened(.hasBytesAvailable)
    events.nobodyIsThere()
    #expect(tellAll() == [])
    events.observed(.open, hasData: true)
    #expect(tellAll() == [.openCompleted, .hasBytesAvailable])
    events.happened(.endEncountered)
    events.nobodyIsThere()
    #expect(events.isEndSeen && !events.isOver)
    events.observed(.atEnd, hasData: false)
    #expect(tellAll() == [.endEncountered])
  }
}
