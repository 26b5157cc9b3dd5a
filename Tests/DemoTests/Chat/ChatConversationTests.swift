// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

// R1
@Suite("A chat client's decisions", .timeLimit(.minutes(2)))
struct ChatConversationTests {
  private var ann = ChatConversation(name: "Ann")
  private let joining: [ChatClientEffect] = [.send(Array("iam:Ann\n".utf8)), .awaitAnswer]

  private func saying(_ text: String) -> [ChatClientEffect] {
    [.send(Array("msg:\(text)\n".utf8)), .awaitAnswer]
  }

  /// Connects, and has the name answered.
  private mutating func join() {
    _ = ann.started()
    _ = ann.connected()
    _ = ann.lineArrived("Ann joined")
  }

  @Test("the name goes out first, and a text only when the server has told of the name")
  mutating func order() {
    #expect(ann.started() == [.readInput])
    #expect(ann.typed(.text("hello")) == [])
    #expect(ann.connected() == joining)
    #expect(ann.lineArrived("Maggie joined") == [] && ann.lineArrived("Maggie: Ann joined") == [])
    #expect(ann.lineArrived("Ann joined") == saying("hello"))
  }

  @Test("the tutorial's server says it in other words")
  mutating func seedWords() {
    _ = ann.typed(.text("hello"))
    _ = ann.connected()
    #expect(ann.lineArrived("Ann has joined") == saying("hello"))
  }

  @Test("a server that does not answer the name gets the text after a while")
  mutating func overdue() {
    _ = ann.connected()
    #expect(ann.answerIsOverdue() == [])
    #expect(ann.typed(.text("hello")) == saying("hello"))
  }

  @Test("one text at a time: the next is read when the kernel has the last, and sent when that has come back")
  mutating func oneAtATime() {
    join()
    #expect(ann.typed(.text("1")) == saying("1"))
    #expect(ann.textWasWritten() == [.readInput])
    #expect(ann.typed(.text("2")) == [])
    #expect(ann.lineArrived("Maggie: 1") == [])
    #expect(ann.lineArrived("Ann: 1") == saying("2"))
    // Here the answer is there before it is known that all was written.
    #expect(ann.lineArrived("Ann: 2") == [])
    #expect(ann.textWasWritten() == [.readInput])
    #expect(ann.typed(.text("3")) == saying("3"))
    #expect(ann.textWasWritten() == [.readInput])
    #expect(ann.typed(.text("4")) == [])
    #expect(ann.answerIsOverdue() == saying("4"))
  }

  @Test(
    "the end of input, or /quit, leaves when all before it was sent and answered", arguments: [true, false])
  mutating func leaves(_ types: Bool) {
    join()
    _ = ann.typed(.text("bye"))
    #expect(ann.textWasWritten() == [.readInput])
    #expect((types ? ann.typed(.text(" /quit ")) : ann.inputEnded()) == [])
    #expect(!ann.isLeaving)
    #expect(ann.lineArrived("Ann: bye") == [.leave])
    #expect(ann.isLeaving && ann.answerIsOverdue() == [] && ann.lineArrived("Ann: bye") == [])
    #expect(ann.disconnected() == [])
  }

  @Test("who has nothing to say joins before leaving")
  mutating func nothingToSay() {
    #expect(ann.inputEnded() == [])
    #expect(ann.connected() == joining)
    #expect(ann.lineArrived("Ann joined") == [.leave])
  }

  @Test("empty lines are not sent, and nothing else is taken for a command")
  mutating func words() {
    join()
    #expect(ann.typed(.text("")) == [.readInput] && ann.typed(.text(" \t")) == [.readInput])
    #expect(ann.typed(.text("/quit now")) == saying("/quit now"))
  }

  // E13
  @Test("a message over 4,096 bytes is not sent, and the user is told")
  mutating func limit() {
    join()
    let note = "not sent: a message of 4097 bytes with its 'msg:', and 4096 is the limit"
    #expect(ann.typed(.text(String(repeating: "x", count: 4_093))) == [.note(note), .readInput])
    let long = "not sent: a message of 300007 bytes with its 'msg:', and 4096 is the limit"
    #expect(ann.typed(.tooLong(count: 300_003)) == [.note(long), .readInput])
    let text = String(repeating: "x", count: 4_092)
    #expect(ann.typed(.text(text)) == saying(text))
  }

  @Test("a server that cuts a text at its colon is noticed, and only that")
  mutating func cut() {
    join()
    for (text, line, isCut) in [
      ("see http://x/", "Ann: see http", true), ("a : b", "Ann: a", true), (":x", "Ann: ", true),
      ("see http://x/", "Ann: see http://x/", false), ("a:b", "Ann: other", false),
      ("plain", "Ann: pla", false),
    ] {
      _ = ann.typed(.text(text))
      _ = ann.textWasWritten()
      #expect(
        ann.lineArrived(line) == (isCut ? [.warn("the server has cut '\(text)' at its colon")] : []),
        "\(text)")
    }
  }

  // M1
  @Test("a text that no kernel had is sent again on the next connection, after the name; others are not")
  mutating func again() {
    join()
    _ = ann.typed(.text("1"))
    #expect(ann.disconnected() == [])
    #expect(ann.hasUnsentText)
    #expect(ann.connected() == joining)
    #expect(ann.lineArrived("Ann joined") == saying("1"))
    _ = ann.textWasWritten()
    #expect(ann.disconnected() == [] && !ann.hasUnsentText)
    #expect(ann.connected() == joining)
    #expect(ann.lineArrived("Ann joined") == [])
    // What the broken connection had to say about its writes does not count any more.
    #expect(ann.textWasWritten() == [])
  }

  @Test(
    "without a connection the end of input ends at once, but not before the first one, nor before the last text"
  )
  mutating func endsOffline() {
    join()
    #expect(ann.disconnected() == [])
    #expect(ann.inputEnded() == [.end])
    var bea = ChatConversation(name: "Bea")
    #expect(bea.inputEnded() == [] && bea.disconnected() == [])
    #expect(bea.connected().count == 2)
    #expect(bea.disconnected() == [.end])
    var cleo = ChatConversation(name: "Cleo")
    _ = cleo.connected()
    _ = cleo.disconnected()
    #expect(cleo.typed(.text("hi")) == [] && cleo.inputEnded() == [])
  }
}
