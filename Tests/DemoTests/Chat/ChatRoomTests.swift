// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

// R2
@Suite("A chat server's decisions", .timeLimit(.minutes(2)))
struct ChatRoomTests {
  private var room = ChatRoom()

  private mutating func say(_ line: String, _ member: Int) -> [ChatEffect] {
    room.lineArrived(Array(line.utf8), from: member)
  }

  @Test("a joining is told to all who are there, with a name or without, the new one too")
  mutating func joining() {
    room.entered(1)
    room.entered(2)
    #expect(say("iam:Maggie", 1) == [.tell([1, 2], "Maggie joined")])
    #expect(say("iam:Ann", 2) == [.tell([1, 2], "Ann joined")])
  }

  @Test("what is said is told to all, with every colon")
  mutating func saying() {
    room.entered(1)
    room.entered(2)
    _ = say("iam:Ann", 2)
    #expect(say("msg:see http://x/:y\r", 2) == [.tell([1, 2], "Ann: see http://x/:y")])
    #expect(say("msg:", 2) == [.tell([1, 2], "Ann: ")])
  }

  @Test("who has no name is told to say it first, and nobody else hears of it")
  mutating func nameless() {
    room.entered(1)
    room.entered(2)
    for line in ["msg:hi", "hello", "", "iam:", "\u{FFFD}"] {
      #expect(say(line, 1) == [.tell([1], "error: say iam:NAME first, then msg:TEXT")], "\(line)")
    }
    _ = say("iam:Ann", 1)
    #expect(say("msg:hi", 1) == [.tell([1, 2], "Ann: hi")])
    #expect(say("hi", 1) == [.tell([1], "error: say iam:NAME first, then msg:TEXT")])
  }

  @Test("a second name takes the place of the first")
  mutating func renaming() {
    room.entered(1)
    _ = say("iam:Ann", 1)
    #expect(say("iam:Bea", 1) == [.tell([1], "Bea joined")])
    #expect(say("msg:x", 1) == [.tell([1], "Bea: x")])
    #expect(room.left(1) == [.tell([], "Bea left")])
  }

  @Test("who leaves is told of to those who stay, once, and only if the name was known")
  mutating func leaving() {
    for member in 1...3 { room.entered(member) }
    _ = say("iam:Ann", 2)
    #expect(room.left(2) == [.tell([1, 3], "Ann left")])
    #expect(room.left(2) == [])
    #expect(room.left(1) == [])
    #expect(room.members == [3])
  }

  // E13
  @Test("who sends a line that is too long is told so, and has to go")
  mutating func tooLong() {
    room.entered(1)
    room.entered(2)
    _ = say("iam:Ann", 1)
    #expect(
      room.lineWasTooLong(from: 1) == [
        .tell([1], "error: line too long"), .dismiss(1), .tell([2], "Ann left"),
      ])
    #expect(room.lineWasTooLong(from: 2) == [.tell([2], "error: line too long"), .dismiss(2)])
  }

  @Test("what comes from somebody who has left is not heard")
  mutating func late() {
    room.entered(1)
    room.entered(2)
    _ = say("iam:Ann", 1)
    _ = room.left(1)
    #expect(say("msg:hi", 1) == [] && say("iam:Ann", 1) == [] && room.lineWasTooLong(from: 1) == [])
  }

  // Field report 19
  @Test("bytes that are not UTF-8 are passed on as replacement marks")
  mutating func invalid() {
    room.entered(1)
    _ = say("iam:Ann", 1)
    #expect(room.lineArrived(Array("msg:a".utf8) + [0xFF], from: 1) == [.tell([1], "Ann: a\u{FFFD}")])
    #expect(room.lineArrived([0xFF, 0xFE], from: 1) == [.tell([1], ChatRoom.joinFirst)])
  }
}
