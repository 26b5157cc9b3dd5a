// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

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
