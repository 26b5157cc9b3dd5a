// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

@Suite("Typed requests", .timeLimit(.minutes(2)))
struct TypedRequestsTests {
  private func items(_ text: String, raw: Bool = false, pieces size: Int = .max) -> [TypedRequests.Item] {
    var typed = TypedRequests(keepsLineEnds: raw)
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      typed.add(Array(rest.prefix(size)))
      rest = rest.dropFirst(size)
    }
    typed.end()
    var items: [TypedRequests.Item] = []
    while let item = typed.next() { items.append(item) }
    return items
  }

  private func request(_ text: String, _ method: String, isWhole: Bool = true) -> TypedRequests.Item {
    .request(.init(bytes: Array(text.utf8), method: method, isWhole: isWhole))
  }

  // Q1
  @Test("a blank line ends a request, and lines go out with CR LF", arguments: [1, 2, 3, .max])
  func lines(_ size: Int) {
    #expect(
      items("GET / HTTP/1.0\nHost: a\n\n", pieces: size)
        == [request("GET / HTTP/1.0\r\nHost: a\r\n\r\n", "GET")])
    #expect(
      items("GET / HTTP/1.0\r\nHost: a\n\r\n", pieces: size)
        == [request("GET / HTTP/1.0\r\nHost: a\r\n\r\n", "GET")])
  }

  @Test("on request the ends of lines are kept as they were typed")
  func raw() {
    #expect(items("HEAD /\nA: b\r\n\n", raw: true) == [request("HEAD /\nA: b\r\n\n", "HEAD")])
    #expect(items("GET /", raw: true) == [request("GET /", "GET", isWhole: false)])
  }

  // R8
  @Test(
    "/reconnect stands between requests, and blank lines between them do not count", arguments: [1, 5, .max])
  func reconnect(_ size: Int) {
    #expect(
      items("\n\nA\n\n\n/reconnect\r\n\n/reconnect\nB x\n/reconnect\n\n/reconnect", pieces: size)
        == [
          request("A\r\n\r\n", "A"), .reconnect, .reconnect, request("B x\r\n/reconnect\r\n\r\n", "B"),
          .reconnect,
        ])
  }

  @Test("what is typed without a blank line at the end is a request, too, and known to be cut")
  func cut() {
    #expect(items("GET / HTTP/1.0\n") == [request("GET / HTTP/1.0\r\n", "GET", isWhole: false)])
    #expect(items("GET / HTTP/1.0") == [request("GET / HTTP/1.0\r\n", "GET", isWhole: false)])
    #expect(items("").isEmpty && items("\n\n").isEmpty)
  }

  @Test("a request that does not end is given up at its limit, and those before it are there")
  func endless() {
    var typed = TypedRequests(keepsLineEnds: false)
    typed.add(Array("A\n\n".utf8))
    let piece = [UInt8](repeating: 0, count: 65_536)
    for _ in 0..<100 { typed.add(piece) }
    typed.end()
    #expect(typed.next() == request("A\r\n\r\n", "A"))
    #expect(typed.next() == .tooLong && typed.next() == nil)
  }

  @Test("a request is there as soon as its blank line is, before the input ends")
  func atOnce() {
    var typed = TypedRequests(keepsLineEnds: false)
    typed.add(Array("GET / HTTP/1.0\n".utf8))
    #expect(typed.next() == nil)
    typed.add([10])
    #expect(typed.next() == request("GET / HTTP/1.0\r\n\r\n", "GET"))
    #expect(typed.next() == nil)
  }
}
