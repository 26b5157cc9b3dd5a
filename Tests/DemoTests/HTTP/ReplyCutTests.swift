// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

/// Replies of every kind, good and bad.
private let replies: [String] = [
  "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html\r\nContent-Length: 29\r\nConnection: close\r\n\r\n<html><body>ok</body></html>\n",
  "HTTP/1.1 200 OK\nContent-Length: 10\n\n0123456789 and more",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=1\r\nhello\r\n6\r\n world\r\n0\r\nX-T: 1\r\n\r\nrest",
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nX: \u{00FF}\u{4F60}\r\n folded\r\n\r\nto the end",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n20\r\nonly ten b",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhello",
  "HTTP/1.1 200 OK\r\nContent-Len", "HTTP/1.1 204 No Content\r\n\r\n", "hello", "",
]

// Q2, field report 20
@Suite("A reply in pieces", .timeLimit(.minutes(2)))
struct ReplyCutTests {
  @Test("a reply is the same byte by byte as in one piece", arguments: replies.indices)
  func byteByByte(_ index: Int) {
    let reply = Array(replies[index].utf8)
    let pieces = repeatElement(1, count: reply.count)
    #expect(ReplyFeed.outcome(of: reply, pieces: pieces) == ReplyFeed.outcome(of: reply))
  }

  @Test("a reply is the same at any one cut", arguments: replies.indices)
  func oneCut(_ index: Int) {
    let reply = Array(replies[index].utf8)
    let whole = ReplyFeed.outcome(of: reply)
    for cut in reply.indices {
      #expect(ReplyFeed.outcome(of: reply, pieces: [cut]) == whole, "cut at \(cut)")
    }
  }

  @Test("a reply is the same at any cuts", arguments: scriptSeeds(20))
  func randomCuts(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for reply in replies.map({ Array($0.utf8) }) {
      let pieces = reply.map { _ in generator.below(8) }
      let same = ReplyFeed.outcome(of: reply, pieces: pieces) == ReplyFeed.outcome(of: reply)
      #expect(same, "SOCKETSTREAMS_SEED=\(seed), \(reply.count) bytes")
    }
  }

  @Test("bytes changed anywhere give an outcome, the same at any cuts", arguments: scriptSeeds(20))
  func damaged(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for original in replies.map({ Array($0.utf8) }) where !original.isEmpty {
      var reply = original
      for _ in 0...generator.below(3) {
        reply[generator.below(reply.count)] = UInt8.random(in: 0...255, using: &generator)
      }
      let whole = ReplyFeed.outcome(of: reply)
      #expect(whole.isDone != (whole.error != nil), "SOCKETSTREAMS_SEED=\(seed)")
      let same = ReplyFeed.outcome(of: reply, pieces: reply.map { _ in generator.below(8) }) == whole
      #expect(same, "SOCKETSTREAMS_SEED=\(seed), \(reply.count) bytes")
    }
  }

  @Test("a long body is the same in pieces of any size", arguments: [1_000, 65_536, 65_537, 300_000])
  func longBody(_ size: Int) {
    let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    for head in ["Content-Length: 300000\r\n", ""] {
      let reply = Array("HTTP/1.1 200 OK\r\n\(head)\r\n".utf8) + body
      let outcome = ReplyFeed.outcome(of: reply, pieces: repeatElement(size, count: reply.count / size))
      let same = outcome.body == body
      #expect(same && outcome.isDone)
    }
  }
}
