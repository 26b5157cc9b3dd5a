// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

@Suite("Text from outside", .timeLimit(.minutes(2)))
struct PlainTextTests {
  @Test(
    "what would steer a terminal is shown as a replacement mark, and nothing else is changed",
    arguments: [
      ("plain, \t\u{4F60}\u{1F600}", "plain, \t\u{4F60}\u{1F600}"), ("\u{1B}[2Jgone", "\u{FFFD}[2Jgone"),
      ("a\u{7}\u{0}\rb\u{7F}\u{9B}c", "a\u{FFFD}\u{FFFD}\u{FFFD}b\u{FFFD}\u{FFFD}c"), ("", ""),
    ])
  func shown(_ text: String, _ expected: String) { #expect(PlainText.shown(text) == expected) }
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
