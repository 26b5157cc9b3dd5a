// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

@Suite("Reading a reply", .timeLimit(.minutes(2)))
struct ReplyReaderTests {
  private func outcome(_ reply: String, method: String = "GET") -> ReplyFeed.Outcome {
    ReplyFeed.outcome(of: Array(reply.utf8), method: method)
  }

  private func text(_ outcome: ReplyFeed.Outcome) -> String { String(decoding: outcome.body, as: UTF8.self) }

  // MARK: - The header

  // Q2
  @Test("the status line is read, with and without a reason")
  func statusLine() throws {
    let head = try #require(outcome("HTTP/1.1 404 Not Found\r\n\r\n").heads.first)
    #expect((head.majorVersion, head.minorVersion) == (1, 1))
    #expect(head.status == 404 && head.reason == "Not Found")
    let bare = try #require(outcome("HTTP/1.0 200\r\n\r\n").heads.first)
    #expect(bare.status == 200 && bare.reason.isEmpty && bare.minorVersion == 0)
  }

  @Test(
    "what has no status line is no reply",
    arguments: [
      "hello\r\n\r\n", "<html>an answer of HTTP/0.9</html>", "\r\nHTTP/1.1 200 OK\r\n\r\n",
      "HTTP/1.1\r\n\r\n",
      "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n",
      "HTTP/1.1 +20 OK\r\n\r\n",
      "HTTP/11 200 OK\r\n\r\n", "HTTP/1.x 200 OK\r\n\r\n", "http/1.1 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n",
      "HTTP/1.1  200 OK\r\n\r\n", String(repeating: "x", count: 70_000),
    ])
  func noStatusLine(_ reply: String) { #expect(outcome(reply).error == .noStatusLine) }

  @Test("lines may end with LF alone, and in both ways in one header")
  func bareLineFeeds() {
    let result = outcome("HTTP/1.0 200 OK\nContent-Length: 2\r\nA: b\n\nhi")
    #expect(result.isDone && text(result) == "hi" && result.heads.first?.fields.count == 2)
  }

  @Test(
    "names have no case, values no white space around them, and a folded line goes on with the one before")
  func fields() throws {
    let head = try #require(
      outcome("HTTP/1.1 200 OK\r\nX-Long : \t one\r\n\t two \r\nEMPTY:\r\ncOntent-lenGTH: 0\r\n\r\n").heads
        .first)
    let fields = head.fields.map { field in
      String(decoding: field.name, as: UTF8.self) + "=" + String(decoding: field.value, as: UTF8.self)
    }
    #expect(fields == ["x-long=one two", "empty=", "content-length=0"])
  }

  @Test(
    "a header line without a name is an error",
    arguments: ["no colon", ": value", " : value", " folded at once"])
  func badFields(_ line: String) {
    #expect(outcome("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n").error == .badField(line))
  }

  // Field report 20
  @Test("a header of 40 KB is read, and one over the limit is an error of its own")
  func longHead() {
    func reply(_ count: Int) -> String {
      // 17 bytes of the status line, 5 around the padding, 2 of the blank line.
      "HTTP/1.1 200 OK\r\nA: \(String(repeating: "a", count: count - 24))\r\n\r\n"
    }
    #expect(outcome(reply(40_000)).isDone)
    #expect(outcome(reply(65_536)).isDone, "the limit itself is allowed")
    #expect(outcome(reply(65_537)).error == .headTooLong(limit: 65_536))
    #expect(outcome(reply(3_000_000)).error == .headTooLong(limit: 65_536))
    let many = String(repeating: "A: b\r\n", count: 12_000)
    #expect(outcome("HTTP/1.1 200 OK\r\n\(many)").error == .headTooLong(limit: 65_536))
  }

  @Test("interim replies are passed over, however many fit in, and the final one counts")
  func interim() {
    let interim = "HTTP/1.1 100 Continue\r\nA: b\r\n\r\n"
    let result = outcome(interim + interim + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    #expect(result.isDone && result.heads.map(\.status) == [100, 100, 200] && text(result) == "hi")
    let endless = String(repeating: interim, count: 3_000)
    #expect(outcome(endless).error == .headTooLong(limit: 65_536))
    #expect(outcome(interim).error == .closedBeforeReply)
  }

  // MARK: - The body

  // Q3
  @Test("a body ends by its length, and what follows is not part of it")
  func length() {
    let result = outcome("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + String(repeating: "x", count: 50))
    #expect(result.isDone && result.body.count == 10 && result.restCount == 40)
    #expect(outcome("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").isDone)
    #expect(outcome("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 002\r\n\r\nhi").isDone)
  }

  @Test(
    "a length that is no number, or two that differ, are errors",
    arguments: [
      "-1", "+5", "5 5", "0x10", "", "five", "9223372036854775808", "5, 6", "5,", "99999999999999999999999",
    ])
  func badLength(_ value: String) {
    let result = outcome("HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\nhello")
    guard case .badLength = result.error else {
      Issue.record("\(value): \(String(describing: result.error))")
      return
    }
  }

  @Test("a body ends by its chunks, with extensions and trailers")
  func chunks() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
    let result = outcome(head + "5;x=1\r\nhello\r\n6 ; y\n world\n000\r\nX-T: 1\r\n\r\nmore")
    #expect(result.isDone && text(result) == "hello world" && result.restCount == 4)
    #expect(outcome(head + "0\r\n\r\n").isDone)
  }

  @Test("chunks count, and not a length beside them")
  func chunksAndLength() {
    let result = outcome(
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: identity, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
    )
    #expect(result.isDone && text(result) == "hi")
  }

  @Test("a coding that is not known is an error", arguments: ["gzip", "gzip, chunked", "chunked, chunked"])
  func coding(_ coding: String) {
    #expect(
      outcome("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n").error == .unknownCoding(coding))
  }

  @Test(
    "a chunk's size is a number in hexadecimal digits",
    arguments: ["zz", "", "-1", "0x5", "5 5", "8000000000000000", ";x", String(repeating: "0", count: 5_000)])
  func badChunkSize(_ size: String) {
    let result = outcome("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\nhello\r\n0\r\n\r\n")
    guard case .badChunkSize = result.error else {
      Issue.record("\(size): \(String(describing: result.error))")
      return
    }
  }

  @Test("a chunk that is longer than its size is an error, and endless trailers are")
  func badChunks() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    #expect(outcome(head + "5\r\nhello!\r\n0\r\n\r\n").error == .badChunkEnd)
    #expect(outcome(head + "5\r\nhellox\n0\r\n\r\n").error == .badChunkEnd)
    let trailers = String(repeating: "A: b\r\n", count: 12_000)
    #expect(outcome(head + "0\r\n" + trailers).error == .trailersTooLong(limit: 65_536))
  }

  @Test("without a length the body ends with the connection")
  func toEnd() {
    let result = outcome("HTTP/1.0 200 OK\r\n\r\n" + String(repeating: "x", count: 100_000))
    #expect(result.isDone && result.body.count == 100_000)
    #expect(outcome("HTTP/1.0 200 OK\r\n\r\n").isDone)
  }

  @Test(
    "some replies have no body, whatever the header says",
    arguments: [(204, "GET"), (304, "GET"), (101, "GET"), (200, "HEAD"), (404, "HEAD"), (200, "CONNECT")])
  func noBody(_ status: Int, _ method: String) {
    let result = outcome("HTTP/1.1 \(status) X\r\nContent-Length: 5\r\n\r\nhello", method: method)
    #expect(result.isDone && result.body.isEmpty && result.restCount == 5)
  }

  // MARK: - The end

  // Q4, field report 25
  @Test(
    "a reply that is cut is an error, and says how much of it came",
    arguments: [
      ("", ReplyError.closedBeforeReply),
      ("HTT", .cutHead),
      ("HTTP/1.1 200 OK\r\nContent-Len", .cutHead),
      ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r", .cutHead),
      ("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhello", .truncated(count: 5, total: 100_000)),
      ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", .truncated(count: 0, total: 1)),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .cutChunks(count: 0)),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", .cutChunks(count: 5)),
      (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n20\r\nonly ten b",
        .cutChunks(count: 15)
      ),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", .cutChunks(count: 5)),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0", .cutChunks(count: 0)),
    ])
  func cut(_ reply: String, _ error: ReplyError) {
    let result = outcome(reply)
    #expect(result.error == error && !result.isDone)
  }

  @Test("the texts of errors are told apart by their numbers, and quote little of what came")
  func errorTexts() {
    #expect(ReplyError.truncated(count: 1_234, total: 100_000).reason == "truncated 1234/100000")
    #expect(ReplyError.headTooLong(limit: 65_536).reason == "header over 65536 bytes")
    let long = String(repeating: "\u{1B}[31m", count: 100)
    let error = outcome("HTTP/1.1 200 OK\r\n\(long)\r\n\r\n").error
    #expect(error?.reason.contains("\u{1B}") == false && (error?.reason.count ?? 0) < 100)
  }
}

@Suite("A reply's header", .timeLimit(.minutes(2)))
struct ReplyHeadTests {
  private func head(_ fields: String, version: String = "1.1") throws -> ReplyHead {
    let outcome = ReplyFeed.outcome(of: Array("HTTP/\(version) 200 OK\r\n\(fields)\r\n\r\n".utf8))
    return try #require(outcome.heads.last)
  }

  // Q5
  @Test(
    "the type decides the file's name",
    arguments: [
      ("text/html", "get.html"), ("Text/HTML; charset=utf-8", "get.html"), ("image/png", "picture.png"),
      ("image/jpeg", "picture.jpg"), ("image/svg+xml", "picture.svg"), ("image/x-icon", "picture.ico"),
      ("image/webp", "picture.webp"), ("image/../../etc/passwd", "picture.img"), ("image/", "picture.img"),
      ("image/aaaaaaaaaaaaaaaaaaaa", "picture.img"), ("text/plain", "get.bin"), ("", "get.bin"),
      ("application/octet-stream", "get.bin"),
    ])
  func fileName(_ type: String, _ name: String) throws {
    #expect(try head("Content-Type: \(type)").fileName == name)
    #expect(try head("X: y").fileName == "get.bin")
  }

  @Test(
    "the header tells whether the connection goes on",
    arguments: [
      ("1.1", "X: y", false), ("1.1", "Connection: close", true), ("1.1", "Connection: x, CLOSE", true),
      ("1.0", "X: y", true), ("1.0", "Connection: Keep-Alive", false),
      ("1.0", "Connection: keep-alive, close", true),
    ])
  func last(_ version: String, _ field: String, _ isLast: Bool) throws {
    #expect(try head(field, version: version).isLast == isLast)
  }
}
