// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

// R1, R2
@Suite("The chat's messages", .timeLimit(.minutes(2)))
struct ChatMessageTests {
  @Test(
    "only the first colon divides a line, and blanks at the ends do not count",
    arguments: [
      ("iam:Ann", ChatMessage.join(name: "Ann")), ("iam: Ann Lee \r", .join(name: "Ann Lee")),
      ("iam:a:b", .join(name: "a:b")), ("msg:hello", .say("hello")), ("  msg:hello", .say("hello")),
      ("msg:see http://x/:y", .say("see http://x/:y")), ("msg:", .say("")), ("msg: : ", .say(":")),
      ("msg:\u{3000}你好\u{85}", .say("你好")),
    ])
  func parses(_ line: String, _ message: ChatMessage) {
    #expect(ChatMessage(line: line) == message)
  }

  @Test(
    "a line without a word that is known asks for nothing",
    arguments: [
      "", " ", ":", "iam", "iam:", "iam: \t", "IAM:Ann", "iam :Ann", "say:hi", "hello", "\u{FFFD}\u{FFFD}",
    ])
  func refuses(_ line: String) {
    #expect(ChatMessage(line: line) == nil)
  }

  @Test("what is written is read again, and ends with a line feed")
  func writes() {
    #expect(ChatMessage.join(name: "Ann").bytes == Array("iam:Ann\n".utf8))
    #expect(ChatMessage.say("see http://x/:y").bytes == Array("msg:see http://x/:y\n".utf8))
    for message in [ChatMessage.join(name: "Ä b"), .say("a:b"), .say("")] {
      #expect(ChatMessage(line: message.line) == message)
    }
  }

  // Field report 40
  @Test("a line of 4,096 bytes is within the limit, whatever its characters, and one of 4,097 is not")
  func limit() {
    #expect(ChatMessage.say(String(repeating: "x", count: 4_092)).isWithinLimit)
    #expect(!ChatMessage.say(String(repeating: "x", count: 4_093)).isWithinLimit)
    #expect(ChatMessage.say(String(repeating: "你", count: 1_364)).isWithinLimit)
    #expect(!ChatMessage.say(String(repeating: "你", count: 1_365)).isWithinLimit)
  }

  @Test("a name is taken without the blanks at its ends", arguments: ["Ann", " Ann", "Ann\u{3000}"])
  func names(_ text: String) {
    #expect(ValueType<String>.chatName.parse(text) == "Ann")
    #expect(ValueType<String>.chatName.parse("Änn Lee") == "Änn Lee")
  }

  @Test("a name with a colon or a line end, and one of nothing, is none")
  func badNames() {
    let ends = ["a\nb", "Ann\n", "a\rb", "a\r\nb", "a\u{2028}b", "a\u{2029}b", "a\u{85}b"]
    let long = String(repeating: "x", count: 4_093)
    for text in ends + ["a:b", ":", "a\u{1B}[2Jb", "a\tb", "", " ", "\u{3000}", long] {
      #expect(ValueType<String>.chatName.parse(text) == nil, "\(text.debugDescription)")
    }
    #expect(ValueType<String>.chatName.parse(String(repeating: "x", count: 4_092)) != nil)
  }

  @Test("both servers' words for a joining are known, and only for the whole name")
  func joining() {
    #expect(
      ChatNotice.isJoining("Ann joined", of: "Ann") && ChatNotice.isJoining("Ann has joined", of: "Ann"))
    #expect(
      !ChatNotice.isJoining("Anna joined", of: "Ann") && !ChatNotice.isJoining("Ann: joined", of: "Ann"))
    #expect(!ChatNotice.isJoining("Jo Ann joined", of: "Ann"))
  }

  @Test("a history keeps the last lines, in order", arguments: [0, 1, 3, 10])
  func history(_ limit: Int) {
    var history = ChatHistory(limit: limit)
    #expect(history.lines.isEmpty)
    for number in 1...7 {
      history.add("\(number)")
      #expect(history.lines == (1...number).suffix(limit).map { "\($0)" })
    }
  }
}
