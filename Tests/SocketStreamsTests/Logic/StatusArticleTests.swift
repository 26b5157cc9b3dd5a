// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Foundation
import SocketStreams
import Testing

@Suite("The article on events and status")
struct StatusArticleTests {
  /// What the article calls each change.
  private static let words: [(word: String, change: StatusChange)] = [
    ("opened", .open), ("connected", .transportOpened), ("ended", .transportEnded),
    ("failed", .transportFailed), ("closed", .close),
  ]

  // S25, S27, S30
  @Test("its table of status changes is the one that the code keeps to")
  func tableOfChanges() throws {
    let article = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Sources/SocketStreams/SocketStreams.docc/EventsAndStatus.md")
    let row = /\| ``StreamStatus\/(\w+)`` \| (\w+) \| ``StreamStatus\/(\w+)`` \|/
    let written = try String(contentsOf: article, encoding: .utf8).matches(of: row).map { match in
      "\(match.1) \(match.2) \(match.3)"
    }
    let kept = StatusTable.rows.map { row in
      "\(row.from) \(Self.words.first { $0.change == row.on }?.word ?? "?") \(row.to)"
    }
    #expect(written == kept)
  }
}
