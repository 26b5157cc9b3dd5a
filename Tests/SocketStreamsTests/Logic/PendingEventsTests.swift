// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The events that a client has not been told yet: order, one-shot, one terminal event.
import Testing

@testable import SocketStreams

@Suite("What a client has not been told yet")
struct PendingEventsTests {
  private func drain(_ events: inout PendingEvents, _ mask: StreamEvents = .all) -> [StreamEvent] {
    var told: [StreamEvent] = []
    var served: StreamEvents = []
    while let event = events.next(mask, except: served) {
      told.append(event)
      served.insert(StreamEvents(event))
    }
    return told
  }

  @Test("nothing has happened: nothing is told")
  func empty() {
    var events = PendingEvents()
    #expect(drain(&events) == [])
    #expect(events.due(.all) == [])
    #expect(!events.isAnnounced && !events.isOver)
  }

  // S77, S79, D3
  @Test("one event at a time, lowest bit first, whatever the order in which they happened")
  func order() {
    var events = PendingEvents()
    events.dataReady(.hasBytesAvailable)
    events.openCompleted()
    #expect(drain(&events) == [.openCompleted, .hasBytesAvailable])
  }

  // S81, S85
  @Test("the data event is told once, however often its condition becomes true, until it is used")
  func oneShot() {
    var events = PendingEvents()
    for _ in 0..<3 { events.dataReady(.hasBytesAvailable) }
    #expect(drain(&events) == [.hasBytesAvailable])
    #expect(events.isAnnounced)
    events.dataReady(.hasBytesAvailable)
    #expect(drain(&events) == [])
    events.dataUsed(.hasBytesAvailable, isReady: false)
    #expect(drain(&events) == [])
    events.dataReady(.hasBytesAvailable)
    #expect(drain(&events) == [.hasBytesAvailable])
  }

  // S82, S88
  @Test("a use that leaves the condition true has the data event told again")
  func usedAndStillReady() {
    var events = PendingEvents()
    events.dataReady(.canAcceptBytes)
    #expect(drain(&events) == [.canAcceptBytes])
    events.dataUsed(.canAcceptBytes, isReady: true)
    #expect(drain(&events) == [.canAcceptBytes])
  }

  // S84
  @Test("a use before the event was told takes it back")
  func usedBeforeTold() {
    var events = PendingEvents()
    events.dataReady(.hasBytesAvailable)
    events.dataUsed(.hasBytesAvailable, isReady: false)
    #expect(drain(&events) == [])
  }

  // S90, S92, S93, S94, G9
  @Test(
    "one terminal event ends everything: no second one, no data, no opening",
    arguments: [StreamEvents.endEncountered, .errorOccurred], [StreamEvents.endEncountered, .errorOccurred])
  func terminal(_ first: StreamEvents, _ second: StreamEvents) {
    var events = PendingEvents()
    events.dataReady(.hasBytesAvailable)
    events.terminal(first)
    events.terminal(second)
    events.dataReady(.hasBytesAvailable)
    #expect(events.waiting == first)
    #expect(drain(&events).map { StreamEvents($0) } == [first])
    #expect(events.isOver)
    events.openCompleted()
    events.terminal(second)
    events.dataReady(.canAcceptBytes)
    #expect(drain(&events) == [])
  }

  // S50
  @Test("opening that was not told yet comes before the terminal event")
  func openedThenEnded() {
    var events = PendingEvents()
    events.openCompleted()
    events.terminal(.endEncountered)
    #expect(drain(&events) == [.openCompleted, .endEncountered])
  }

  // S72, S74
  @Test("what the mask leaves out waits for a mask that does not", arguments: StreamEvent.allCases)
  func masked(_ event: StreamEvent) {
    var events = PendingEvents()
    switch event {
    case .openCompleted: events.openCompleted()
    case .hasBytesAvailable, .canAcceptBytes: events.dataReady(StreamEvents(event))
    case .endEncountered, .errorOccurred: events.terminal(StreamEvents(event))
    }
    #expect(drain(&events, StreamEvents.all.subtracting(StreamEvents(event))) == [])
    #expect(events.due(.all) == StreamEvents(event))
    #expect(drain(&events, StreamEvents(event)) == [event])
  }

  @Test("an event that was served in this round waits for the next")
  func served() {
    var events = PendingEvents()
    events.dataReady(.canAcceptBytes)
    #expect(events.next(.all, except: .canAcceptBytes) == nil)
    #expect(events.next(.all, except: []) == .canAcceptBytes)
  }

  // S95
  @Test("nothing is told after close, whatever was due and whatever happens")
  func close() {
    var events = PendingEvents()
    events.openCompleted()
    events.dataReady(.hasBytesAvailable)
    events.close()
    #expect(events.isOver)
    events.openCompleted()
    events.dataReady(.hasBytesAvailable)
    events.dataUsed(.hasBytesAvailable, isReady: true)
    events.clientReplaced(.hasBytesAvailable)
    events.terminal(.errorOccurred)
    #expect(drain(&events) == [])
  }

  // S74
  @Test("a new client is told again what the last one was told and did not act upon")
  func replaced() {
    var events = PendingEvents()
    events.dataReady(.hasBytesAvailable)
    #expect(drain(&events) == [.hasBytesAvailable])
    events.clientReplaced(.hasBytesAvailable)
    #expect(drain(&events) == [.hasBytesAvailable])
    events.dataUsed(.hasBytesAvailable, isReady: false)
    events.clientReplaced(.hasBytesAvailable)
    #expect(drain(&events) == [])
  }

  @Test("what is told once in a life is not told to a second client")
  func replacedAfterOpening() {
    var events = PendingEvents()
    events.openCompleted()
    #expect(drain(&events) == [.openCompleted])
    events.clientReplaced(.hasBytesAvailable)
    #expect(drain(&events) == [])
  }
}
