// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

@Suite("Typed lines", .timeLimit(.minutes(2)))
struct TypedLinesTests {
  private func lines(_ pieces: [[UInt8]], limit: Int = 10) -> [TypedLine] {
    var lines = TypedLines(limit: limit)
    var found: [TypedLine] = []
    for piece in pieces {
      lines.add(piece)
      while let line = lines.next() { found.append(line) }
    }
    if let line = lines.finish() { found.append(line) }
    return found
  }

  // E12, E18
  @Test("the cut does not matter: whole, in two pieces at every place, and byte by byte")
  func cuts() {
    let bytes = Array("one\ntwo\r\n\n \r\n你好\nlast".utf8)
    let expected: [TypedLine] = [
      .text("one"), .text("two"), .text(""), .text(" "), .text("你好"), .text("last"),
    ]
    #expect(lines([bytes]) == expected)
    #expect(lines(bytes.map { [$0] }) == expected)
    for cut in bytes.indices {
      #expect(lines([Array(bytes[..<cut]), Array(bytes[cut...])]) == expected, "\(cut)")
    }
  }

  @Test("bytes that are not UTF-8 are replaced")
  func invalid() {
    #expect(lines([[0xFF, 0xFE, 0x0A, 0xE4, 0xBD, 0x0A]]) == [.text("\u{FFFD}\u{FFFD}"), .text("\u{FFFD}")])
  }

  // E13; field report 40
  @Test("ten bytes are a line of ten, with either end and none, and eleven are too long")
  func limit() {
    let ten = Array("0123456789".utf8)
    for end in ["\n", "\r\n", ""] {
      for pieces in [[ten + Array(end.utf8)], (ten + Array(end.utf8)).map { [$0] }] {
        #expect(lines(pieces) == [.text("0123456789")])
      }
      let eleven = ten + [UInt8(ascii: "x")] + Array(end.utf8)
      for pieces in [[eleven], eleven.map { [$0] }] { #expect(lines(pieces) == [.tooLong(count: 11)]) }
    }
  }

  @Test("a line that is too long is counted, and the next one is right")
  func tooLong() {
    let long = [UInt8](repeating: 1, count: 1_000)
    #expect(lines([long, long, Array("\nok\n".utf8)]) == [.tooLong(count: 2_000), .text("ok")])
    #expect(lines([long + Array("\r\nok".utf8)]) == [.tooLong(count: 1_000), .text("ok")])
  }

  @Test("nothing is no line")
  func nothing() {
    #expect(lines([]).isEmpty && lines([[]]).isEmpty)
    #expect(lines([[0x0A]]) == [.text("")])
  }
}
