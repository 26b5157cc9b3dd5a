// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Faults of the program that were found by trying to break it.
import Testing

@testable import Demo

@Suite("Found by trying: replies", .timeLimit(.minutes(2)))
struct FoundRegressions5 {
  @Test("a header of many short lines takes time in proportion to its length")
  func manyFields() {
    let reply = "HTTP/1.1 200 OK\n" + String(repeating: "a:\n", count: 21_000) + "Content-Length: 0\n\n"
    let start = ContinuousClock.now
    let outcome = ReplyFeed.outcome(of: Array(reply.utf8))
    #expect(outcome.isDone && outcome.heads.first?.fields.count == 21_001)
    // Copying what there is for each line took 21 times as long.
    #expect(ContinuousClock.now - start < .seconds(isSanitized ? 60 : 2))
  }
}
