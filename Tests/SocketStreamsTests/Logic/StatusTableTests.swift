// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The table of status changes: every pair, and what follows from it as a whole.
import Testing

@testable import SocketStreams

@Suite("The table of status changes")
struct StatusTableTests {
  /// Written down a second time, by status: what each change leads to. What is not listed changes nothing.
  private static let expected: [StreamStatus: [StatusChange: StreamStatus]] = [
    .notOpen: [.open: .opening],
    .opening: [.transportOpened: .open, .transportFailed: .error, .close: .closed],
    .open: [.transportEnded: .atEnd, .transportFailed: .error, .close: .closed],
    .atEnd: [.close: .closed],
  ]

  // S25, S27, S29, S30, S31, S32, S33
  @Test("every status answers every change as CF's documentation says", arguments: StreamStatus.allCases)
  func everyPair(_ status: StreamStatus) {
    for change in StatusChange.allCases {
      #expect(
        StatusTable.next(status, on: change) == Self.expected[status]?[change], "\(status) on \(change)")
    }
  }

  @Test("no pair of status and change is listed twice")
  func isFunction() {
    let pairs = StatusTable.rows.map { "\($0.from) \($0.on)" }
    #expect(Set(pairs).count == pairs.count)
  }

  // S26
  @Test("reading and writing are never a stream's status between calls")
  func momentaryStatuses() {
    let named = StatusTable.rows.flatMap { [$0.from, $0.to] }
    #expect(!named.contains(.reading) && !named.contains(.writing))
  }

  // S29, S31
  @Test("closed and error are final, and nothing leads back to notOpen")
  func finalStatuses() {
    #expect(!StatusTable.rows.contains { $0.from == .closed || $0.from == .error })
    #expect(!StatusTable.rows.contains { $0.to == .notOpen })
  }

  @Test("every status that occurs can be reached from notOpen")
  func reachable() {
    var reached: Set<StreamStatus> = [.notOpen]
    for _ in StreamStatus.allCases {
      for row in StatusTable.rows where reached.contains(row.from) { reached.insert(row.to) }
    }
    #expect(reached == [.notOpen, .opening, .open, .atEnd, .closed, .error])
  }

  // S23
  @Test("the numbers of statuses and events are CF's")
  func rawValues() {
    #expect(StreamStatus.allCases.map(\.rawValue) == Array(0...7))
    #expect(StreamEvent.allCases.map(\.rawValue) == [1, 2, 4, 8, 16])
    #expect(StreamEvents.all.rawValue == 31)
  }

  // D20
  @Test("statuses and events have the names that the source code uses")
  func names() {
    #expect(
      StreamStatus.allCases.map(\.description)
        == ["notOpen", "opening", "open", "reading", "writing", "atEnd", "closed", "error"])
    #expect(
      StreamEvents.all.description
        == "[openCompleted, hasBytesAvailable, canAcceptBytes, errorOccurred, endEncountered]")
    #expect(StreamEvents().description == "[]")
  }
}
