// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

// J13
@Suite("What is said in plain before TLS", .timeLimit(.minutes(2)))
struct PlainDialogueTests {
  typealias Step = PlainDialogue.Step

  private func send(_ text: String) -> Step { .send(Array(text.utf8)) }

  /// The steps that the pieces of what a server says bring about, the first one before them.
  private func steps(_ lines: [String], _ pieces: String...) -> [Step] {
    var dialogue = PlainDialogue(lines)
    return [dialogue.start()] + pieces.map { dialogue.received(Array($0.utf8)) }
  }

  @Test("a line is sent, and its reply is followed by TLS")
  func one() {
    #expect(steps(["STARTTLS"], "220 ready\r\n") == [send("STARTTLS\r\n"), .secure])
    #expect(steps(["STLS"], "+OK\n") == [send("STLS\r\n"), .secure])
  }

  @Test("an empty line is not sent: its reply is the server's greeting")
  func greeting() {
    #expect(steps(["", "a STARTTLS"], "* OK\r\n", "a OK\r\n") == [.read, send("a STARTTLS\r\n"), .secure])
  }

  @Test("each line waits for the reply to the one before")
  func several() {
    #expect(
      steps(["", "EHLO me", "STARTTLS"], "220 mail\r\n", "250 mail\r\n", "220 go\r\n")
        == [.read, send("EHLO me\r\n"), send("STARTTLS\r\n"), .secure])
  }

  @Test("a reply goes on while three digits and a hyphen begin its lines")
  func continued() {
    #expect(
      steps(["EHLO me", "STARTTLS"], "250-mail\r\n250-SIZE\r\n", "250 STARTTLS\r\n", "220 go\r\n")
        == [send("EHLO me\r\n"), .read, send("STARTTLS\r\n"), .secure])
    #expect(steps(["X"], "2500-no status\r\n") == [send("X\r\n"), .secure])
  }

  @Test("replies may be cut anywhere")
  func cuts() {
    #expect(steps(["X"], "22", "0 ok", "\r", "\n").suffix(2) == [.read, .secure])
  }

  // J13: bytes behind the reply were not protected, and would be taken for what was
  @Test(
    "bytes behind the last reply are an error, whatever they are",
    arguments: ["220 go\r\n250 injected\r\n", "220 go\r\nx", "220 go\n\u{16}"])
  func injected(_ text: String) {
    #expect(steps(["STARTTLS"], text).last == .fail("more bytes came in plain behind its reply"))
  }

  @Test("a greeting and a reply in one piece are two replies")
  func together() {
    #expect(steps(["", ""], "* OK\r\n* more\r\n") == [.read, .secure])
  }

  @Test(
    "a reply that refuses is an error with its words",
    arguments: ["454 not now", "502-unknown", "-ERR no", "NO", "a NO privacy", "a BAD what", "-"])
  func refused(_ line: String) {
    #expect(steps(["STARTTLS"], line + "\r\n").last == .fail("it said '\(line)'"))
    // A greeting too.
    #expect(steps(["", "STARTTLS"], line + "\r\n").last == .fail("it said '\(line)'"))
  }

  @Test(
    "any other reply agrees",
    arguments: ["220", "334 go", "600 what", "+OK", "OK", "a OK Begin", "", "what is NO here", "4000"])
  func agreed(_ line: String) { #expect(steps(["STARTTLS"], line + "\r\n").last == .secure) }

  @Test("a reply is limited, and a connection that ends before it is an error")
  func limits() {
    let long = String(repeating: "x", count: 4_097)
    #expect(steps(["X"], long).last == .fail("its reply is over 4096 bytes"))
    #expect(steps(["X"], String(long.dropLast()), "\n").last == .secure)
    #expect(PlainDialogue(["X"]).ended() == .fail("it ended the connection"))
  }

  @Test("a reply that never ends is given up, and no more is kept of it than is allowed")
  func endless() {
    var dialogue = PlainDialogue(["X"])
    _ = dialogue.start()
    let piece = Array(String(repeating: "250-more\r\n", count: 400).utf8)
    let step = (1...17).map { _ in dialogue.received(piece) }.last
    #expect(step == .fail("it says more than 65536 bytes"))
    #expect(dialogue.transcript.count == 1 + 16 * 400)
  }

  @Test("the transcript has both sides, and nothing that steers a terminal")
  func transcript() {
    var dialogue = PlainDialogue(["", "X"])
    _ = dialogue.start()
    _ = dialogue.received(Array("hi \u{1B}[2J\r\n".utf8))
    _ = dialogue.received(Array("ok\r\n".utf8))
    #expect(dialogue.transcript == ["< hi \u{FFFD}[2J", "> X", "< ok"])
  }

  @Test("what came and was not taken for a reply is shown too, a line for a line")
  func rest() {
    var dialogue = PlainDialogue(["X", "Y"])
    _ = dialogue.start()
    #expect(dialogue.received(Array("220 a\r\n22\u{7}".utf8)) == send("Y\r\n"))
    #expect(dialogue.transcript == ["> X", "< 220 a", "> Y", "< 22\u{FFFD}"])
    _ = dialogue.received(Array("0 b\r\n\r\n250 c\r\nd".utf8))
    #expect(dialogue.transcript.suffix(4) == ["< 22\u{FFFD}0 b", "< ", "< 250 c", "< d"])
  }
}
