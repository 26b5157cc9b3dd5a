// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("The vocabulary equals CoreFoundation's")
struct VocabularyTests {
  // S23
  @Test("status values are 0 to 7 in CF's order")
  func statusValues() {
    #expect(StreamStatus.allCases.map(\.rawValue) == Array(0...7))
    #expect(StreamStatus.notOpen.rawValue == 0 && StreamStatus.atEnd.rawValue == 5)
    #expect(StreamStatus.closed.rawValue == 6 && StreamStatus.error.rawValue == 7)
  }

  // S77
  @Test("events are single bits in CF's order")
  func eventValues() {
    #expect(StreamEvent.allCases.map(\.rawValue) == [1, 2, 4, 8, 16])
    #expect(StreamEvents.all.rawValue == 31)
  }

  // D20
  @Test("every event and every status has a name")
  func names() {
    #expect(Set(StreamEvent.allCases.map(\.description)).count == 5)
    #expect(Set(StreamStatus.allCases.map(\.description)).count == 8)
    #expect(StreamEvents([.openCompleted, .endEncountered]).description == "[openCompleted, endEncountered]")
  }
}
