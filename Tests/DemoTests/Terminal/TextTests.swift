// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

@Suite("The text decoder", .timeLimit(.minutes(2)))
struct TextDecoderTests {
  private func decode(_ pieces: [[UInt8]], _ replacement: TextDecoder.Replacement = .mark) -> [String] {
    var decoder = TextDecoder(replacing: replacement)
    return pieces.map { String(decoding: decoder.decode($0), as: UTF8.self) }
      + [String(decoding: decoder.finish(), as: UTF8.self)]
  }

  @Test("a character cut anywhere comes out whole, and every piece of output is UTF-8")
  func cuts() {
    let text = "héllo 你好 😀\n"
    let bytes = Array(text.utf8)
    for cut in 0...bytes.count {
      let pieces = decode([Array(bytes[..<cut]), Array(bytes[cut...])])
      #expect(pieces.joined() == text)
      #expect(!pieces.joined().contains("\u{FFFD}"))
    }
    let single = decode(bytes.map { [$0] })
    #expect(single.joined() == text)
    #expect(single.contains("你") && single.contains("😀"))
  }

  @Test(
    "bytes that are not UTF-8 become marks, as many as Swift itself would use",
    arguments: [
      [0xFF], [0xFF, 0xFE], [0x80], [0xC0, 0x80], [0xC3], [0xE4, 0xBD], [0xE4, 0x41], [0xED, 0xA0, 0x80],
      [0xF0, 0x9F, 0x98], [0xF5, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x41, 0xE2, 0x82, 0x42],
      [0xE0, 0x80, 0x80],
      [0xF0, 0x9F, 0xE4, 0xBD, 0xA0],
    ] as [[UInt8]])
  func marks(_ bytes: [UInt8]) {
    #expect(decode([bytes]).joined() == String(decoding: bytes, as: UTF8.self))
    #expect(decode(bytes.map { [$0] }).joined() == String(decoding: bytes, as: UTF8.self))
  }

  @Test("with hex each bad byte is shown, and good text is left alone")
  func hex() {
    let bytes = Array("ok ".utf8) + [0xFF, 0xFE] + Array(" bäd\n".utf8)
    #expect(decode([bytes], .hex).joined() == "ok \\xFF\\xFE bäd\n")
    #expect(decode([[0xE4, 0xBD]], .hex) == ["", "\\xE4\\xBD"])
    #expect(decode([[0xE4, 0x0A]], .hex) == ["\\xE4\n", ""])
  }

  @Test("nothing in, nothing out")
  func empty() {
    #expect(decode([]) == [""])
    #expect(decode([[], []]) == ["", "", ""])
  }
}

@Suite("JSON", .timeLimit(.minutes(2)))
struct JSONTextTests {
  @Test("an object is one line, with its members in order")
  func object() {
    let value = JSONValue.object([
      .init("command", .string("send")), .init("ok", .bool(true)), .init("bytes", .integer(-5)),
      .init("seconds", .milli(12)), .init("error", .null), .init("list", .array([.integer(1), .object([])])),
    ])
    #expect(
      value.text
        == #"{"command":"send","ok":true,"bytes":-5,"seconds":0.012,"error":null,"list":[1,{}]}"#)
  }

  @Test(
    "text is quoted as JSON wants it",
    arguments: [
      ("", #""""#), ("a b", #""a b""#), ("\"\\", #""\"\\""#), ("\n\r\t", #""\n\r\t""#),
      ("\u{1}\u{1F}\0", #""\u0001\u001f\u0000""#), ("你好 😀", #""你好 😀""#),
    ])
  func strings(_ text: String, _ expected: String) { #expect(JSONValue.string(text).text == expected) }

  @Test(
    "thousandths have three decimals",
    arguments: [(0, "0.000"), (1_234, "1.234"), (-1_050, "-1.050"), (60_000, "60.000")])
  func decimals(_ value: Int64, _ text: String) { #expect(JSONValue.milli(value).text == text) }
}
