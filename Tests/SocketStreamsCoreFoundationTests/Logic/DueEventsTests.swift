// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a half owes its client: every rule, and random scripts against the invariants.

import SocketStreams
import Testing

@testable import SocketStreamsCoreFoundation

@Suite struct DueEventsTests {
  // A7
  @Test func nothingIsDueWithoutAClient() {
    var due = DueEvents(data: .hasBytesAvailable)
    due.happened(.openCompleted)
    due.happened(.hasBytesAvailable)
    due.happened(.endEncountered)
    #expect(due.next == nil)
    due.request(.all)
    #expect(drain(&due) == [.event(.openCompleted), .event(.hasBytesAvailable), .event(.endEncountered)])
    #expect(due.isOver)
  }

  // S84, S85
  @Test func dataIsOwedOnceAndNotAfterAReadOrWrite() {
    var due = DueEvents(data: .canAcceptBytes)
    due.request(.all)
    due.happened(.canAcceptBytes)
    due.happened(.canAcceptBytes)
    due.dataMoved()
    #expect(due.next == nil)
    due.happened(.canAcceptBytes)
    #expect(drain(&due) == [.event(.canAcceptBytes)])
  }

  // S81: what comes after a call comes of the client's next move; what was on its way while it moved is no second event.
  @Test func dataThatWasToldIsNotToldAgainWithoutAMove() {
    var due = DueEvents(data: .hasBytesAvailable)
    due.request(.all)
    due.happened(.hasBytesAvailable)
    #expect(drain(&due) == [.event(.hasBytesAvailable)])
    // Before it was known that the bytes are there, others came: one call is for both.
    due.happened(.hasBytesAvailable)
    due.dataTold()
    #expect(due.isDataTold && due.next == nil)
    due.happened(.hasBytesAvailable)
    #expect(due.next == nil)
    due.dataMoved()
    due.happened(.hasBytesAvailable)
    #expect(drain(&due) == [.event(.hasBytesAvailable)])
  }

  // S81: who was not called has not been told.
  @Test func dataThatHadGoneWasNotTold() {
    var due = DueEvents(data: .hasBytesAvailable)
    due.request(.all)
    due.happened(.hasBytesAvailable)
    #expect(drain(&due) == [.event(.hasBytesAvailable)])
    #expect(!due.isDataTold)
    due.happened(.hasBytesAvailable)
    #expect(drain(&due) == [.event(.hasBytesAvailable)])
  }

  // S74, S111: another client, or one that may not have been called, is told once more.
  @Test func dataIsOwedAgain() {
    var due = DueEvents(data: .hasBytesAvailable)
    due.request(.all)
    due.dataOwedAgain()
    #expect(due.next == nil, "nothing was told")
    due.dataTold()
    due.dataOwedAgain()
    #expect(drain(&due) == [.event(.hasBytesAvailable)])
    due.dataTold()
    due.request(.all)
    due.happened(.hasBytesAvailable)
    #expect(drain(&due) == [.event(.hasBytesAvailable)])
  }

  // S94
  @Test func oneTerminalEventAndNothingAfterIt() {
    var due = DueEvents(data: .hasBytesAvailable)
    due.request(.all)
    due.happened(.endEncountered)
    due.happened(.errorOccurred)
    #expect(drain(&due) == [.event(.errorOccurred)])
    due.happened(.hasBytesAvailable)
    due.happened(.endEncountered)
    #expect(due.next == nil)
  }

  // S72: the status changes by an opening that nobody asked for.
  @Test func theOpeningIsPassedOnUnasked() {
    var due = DueEvents(data: .hasBytesAvailable)
    due.request(.hasBytesAvailable)
    due.happened(.openCompleted)
    #expect(drain(&due) == [.event(.openCompleted)])
  }

  // S91
  @Test func dataStandsInForAnEndThatNobodyAsksFor() {
    var due = DueEvents(data: .hasBytesAvailable)
    due.request(.hasBytesAvailable)
    due.happened(.endEncountered)
    #expect(drain(&due) == [.standIn])
    due.dataMoved()
    #expect(drain(&due) == [.standIn])
    due.request(.all)
    #expect(drain(&due) == [.event(.endEncountered)])
  }

  // S47
  @Test func whoWaitsForTheOpeningHearsOfItAlone() {
    var due = DueEvents(data: .hasBytesAvailable)
    due.isOpeningAwaited = true
    due.happened(.openCompleted)
    due.happened(.hasBytesAvailable)
    #expect(drain(&due) == [.event(.openCompleted)])
    due.isOpeningAwaited = false
    #expect(due.next == nil)
    var failed = DueEvents(data: .hasBytesAvailable)
    failed.isOpeningAwaited = true
    failed.happened(.errorOccurred)
    #expect(drain(&failed) == [.event(.errorOccurred)])
  }

  // I1 to I5 of the core, here: order, one terminal event, nothing unasked, nothing lost.
  @Test func randomScriptsKeepTheInvariants() {
    for seed in scriptSeeds(500) {
      var random = SeededGenerator(seed: seed)
      var due = DueEvents(data: .hasBytesAvailable)
      var wanted: StreamEvents = []
      var passed: [StreamEvent] = []
      var happened: StreamEvents = []
      for _ in 0..<30 {
        switch random.below(8) {
        case 0:
          due.happened(.openCompleted)
          if !happened.contains(.endEncountered) { happened.insert(.openCompleted) }
        case 1, 2: due.happened(.hasBytesAvailable)
        case 3: due.dataMoved()
        case 4 where random.oneIn(3):
          due.happened(.endEncountered)
          happened.insert(.endEncountered)
        case 5:
          wanted = StreamEvents(rawValue: UInt(random.below(32)))
          due.request(wanted)
        default:
          guard let step = due.next else { break }
          due.passedOn(step)
          guard case .event(let event) = step else { break }
          #expect(event == .openCompleted || wanted.contains(StreamEvents(event)), "seed \(seed)")
          #expect(passed.last != .endEncountered, "seed \(seed)")
          passed.append(event)
        }
      }
      due.request(.all)
      due.happened(.endEncountered)
      while let step = due.next {
        due.passedOn(step)
        if case .event(let event) = step { passed.append(event) }
      }
      #expect(passed.last == .endEncountered, "seed \(seed)")
      #expect(!happened.contains(.openCompleted) || passed.contains(.openCompleted), "seed \(seed)")
    }
  }

  private func drain(_ due: inout DueEvents) -> [DueEvents.Step] {
    var steps: [DueEvents.Step] = []
    while let step = due.next {
      steps.append(step)
      due.passedOn(step)
    }
    return steps
  }
}
