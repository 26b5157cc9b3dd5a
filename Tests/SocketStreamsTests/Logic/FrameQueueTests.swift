// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("Frame queue")
struct FrameQueueTests {
  // MARK: - One framing each

  // E2, E3, E4, E5, P6
  @Test("a framing brings the same frame whatever the cuts")
  func framings() {
    #expect(answers(to: [.exactly(3)], "abcdef").first == .frame("abc", 0))
    #expect(answers(to: [.exactly(0), .exactly(2)], "ab").prefix(2) == [.frame("", 0), .frame("ab", 1)])
    #expect(answers(to: [.through([0x3B, 0x3B])], "a;b;;c").first == .frame("a;b;;", 0))
    #expect(answers(to: [.through(Array("aab".utf8))], "aaab").first == .frame("aaab", 0))
    #expect(answers(to: [.toEnd()], "all of it") == [.frame("all of it", 0), .ended])
    #expect(answers(to: [.toEnd()], "") == [.frame("", 0), .ended])
    #expect(answers(to: [.bytes(3...3), .toEnd()], "abcde") == [.frame("abc", 0), .frame("de", 1), .ended])
  }

  // E1, E5
  @Test("a minimum waits for its bytes, and takes what is there up to the maximum")
  func minimum() {
    var feed = FrameFeed([.bytes(2...4), .available(upTo: 3)])
    feed.arrive([1])
    #expect(feed.answers.isEmpty)
    feed.arrive(Array("abcdefgh".utf8))
    #expect(feed.answers == [.frame("\u{1}abc", 0), .frame("def", 1)])
    #expect(feed.queue.byteCount == 2)
  }

  // E12, report 40
  @Test(
    "lines end as their style says, and what is left at the end is a line", arguments: LineEnding.allCases)
  func lines(_ ending: LineEnding) {
    let input = "one\r\ntwo\n\nth\rree\r\r\nlast"
    let expected =
      switch ending {
      case .any: ["one", "two", "", "th", "ree", "", "last"]
      case .crlf: ["one", "two", "", "th\rree\r", "last"]
      case .crlfStrict: ["one", "two\n\nth\rree\r", "last"]
      case .lf: ["one\r", "two", "", "th\rree\r\r", "last"]
      }
    let framings = Array(repeating: Framing.line(ending), count: expected.count + 1)
    let frames = expected.enumerated().map { FrameAnswer.frame($0.element, $0.offset) }
    #expect(answers(to: framings, input) == frames + [.failed(.cut, expected.count), .ended])
  }

  // E12
  @Test("the LF of a CR LF is dropped whatever is read next")
  func droppedLineFeed() {
    #expect(
      answers(to: [.line(.any), .exactly(3), .line(.any), .toEnd()], "A\r\nBCDE\r\n\nF")
        == [.frame("A", 0), .frame("BCD", 1), .frame("E", 2), .frame("\nF", 3), .ended])
    var feed = FrameFeed([.line(.any)])
    feed.arrive(Array("A\r".utf8))
    feed.pushBack(Array("xy".utf8))
    feed.read(.exactly(4), tag: 1)
    feed.arrive(Array("\nzw".utf8))
    #expect(feed.answers == [.frame("A", 0), .frame("xyzw", 1)])
    // Found by fuzzing: reads of what was pushed back lie between the two halves of the ending.
    feed = FrameFeed([.line(.any)])
    feed.arrive(Array("A\r".utf8))
    feed.pushBack(Array("x\ryz".utf8))
    feed.read(.line(.any), tag: 1)
    feed.read(.exactly(2), tag: 2)
    feed.read(.exactly(4), tag: 3)
    feed.arrive(Array("\nab\nc".utf8))
    #expect(feed.answers == [.frame("A", 0), .frame("x", 1), .frame("yz", 2), .frame("ab\nc", 3)])
  }

  // E14, report 43
  @Test(
    "a length is read in every width and order, at any place",
    arguments: LengthPrefix.Width.allCases, LengthPrefix.Order.allCases)
  func lengths(_ width: LengthPrefix.Width, _ order: LengthPrefix.Order) throws {
    let prefix = LengthPrefix(width, order)
    let framing = Framing.lengthPrefixed(width, order: order)
    for head in [1, 3] {
      let input = Array("xyz".utf8.prefix(head)) + prefix.encode(5)! + Array("hello".utf8) + prefix.encode(0)!
      #expect(
        answers(to: [.exactly(head), framing, framing, framing], input)
          == [
            .frame(String("xyz".prefix(head)), 0), .frame("hello", 1), .frame("", 2), .failed(.cut, 3),
            .ended,
          ])
    }
  }

  // E14, report 43
  @Test("a length over the limit fails, up to the largest that can be written")
  func largeLengths() {
    for length: [UInt8] in [[0x80, 0, 0, 0, 0, 0, 0, 0], Array(repeating: 0xFF, count: 8)] {
      #expect(answers(to: [.lengthPrefixed(.eightBytes)], length) == [.failed(.tooLong, 0)])
      #expect(answers(to: [.lengthPrefixed(.eightBytes, limit: .max)], length) == [.failed(.tooLong, 0)])
    }
    #expect(answers(to: [.lengthPrefixed(.oneByte, limit: 2)], [2, 65, 66]).first == .frame("AB", 0))
    #expect(
      answers(to: [.lengthPrefixed(.oneByte, limit: 2)], [3, 65, 66, 67]).first == .failed(.tooLong, 0))
    #expect(LengthPrefix(.oneByte).encode(256) == nil && LengthPrefix(.twoBytes).encode(-1) == nil)
    #expect(LengthPrefix(.twoBytes).encode(258) == [1, 2])
    #expect(LengthPrefix(.fourBytes, .littleEndian).encode(258) == [2, 1, 0, 0])
  }

  // E15
  @Test("a netstring is its content, and everything else is malformed or too long")
  func netstrings() {
    #expect(
      answers(to: [.netstring(), .netstring()], "5:hello,0:,") == [.frame("hello", 0), .frame("", 1), .ended])
    for text in ["x", ":a,", "05:hello,", "5x", "3:abcd", "-1:,"] {
      #expect(answers(to: [.netstring()], text).first == .failed(.malformed, 0), "\(text)")
    }
    #expect(answers(to: [.netstring(limit: 4)], "5:hello,").first == .failed(.tooLong, 0))
    #expect(answers(to: [.netstring(limit: .max)], "99999999999999999999:").first == .failed(.tooLong, 0))
    #expect(answers(to: [.netstring(limit: .max)], "9223372036854775807:").first == .failed(.tooLong, 0))
  }

  // MARK: - Mixed

  // E11, E16, report 38
  @Test("reads of different kinds share out the same bytes whatever the cuts")
  func mixed() {
    let crlf: [UInt8] = [13, 10]
    #expect(
      answers(to: [.through(crlf), .exactly(4), .through(crlf), .exactly(1)], "A\r\nBCDE\r\nF")
        == [.frame("A\r\n", 0), .frame("BCDE", 1), .frame("\r\n", 2), .frame("F", 3), .ended])
  }

  // E7
  @Test("each read is answered once, in order, with its tag")
  func order() {
    var feed = FrameFeed([])
    for tag in [7, 3, 7] { feed.read(.exactly(1), tag: tag) }
    feed.arrive(Array("abc".utf8))
    #expect(feed.answers == [.frame("a", 7), .frame("b", 3), .frame("c", 7)])
  }

  // E10
  @Test("a frame is appended to what its read was given")
  func appending() {
    var queue = FrameQueue()
    queue.enqueue(.exactly(2), appendingTo: [1, 2], tag: 0)
    queue.enqueue(.exactly(1), appendingTo: [], tag: 1)
    queue.bytesArrived([3, 4, 5])
    #expect(queue.next(now: 0) == .frame([1, 2, 3, 4], tag: 0))
    #expect(queue.next(now: 0) == .frame([5], tag: 1))
  }

  // MARK: - Limits

  // E3, E13, report 40
  @Test("content of exactly the limit passes and one byte more fails, whatever the cuts")
  func limits() {
    let ten = "0123456789"
    for (framing, ending) in [
      (Framing.line(.crlf, limit: 10), "\r\n"), (.line(.crlf, limit: 10), "\n"),
      (.line(.crlfStrict, limit: 10), "\r\n"), (.line(.lf, limit: 10), "\n"), (.line(.any, limit: 10), "\r"),
      (.line(.any, limit: 10), "\r\n"), (.line(limit: 10), ""), (.toEnd(limit: 10), ""),
    ] {
      #expect(answers(to: [framing], ten + ending).first == .frame(ten, 0), "\(framing) \(ending.utf8.count)")
      #expect(answers(to: [framing], ten + "x" + ending).first == .failed(.tooLong, 0), "\(framing)")
    }
    let through = Framing.through([13, 10], limit: 10)
    #expect(answers(to: [through], ten + "\r\n").first == .frame(ten + "\r\n", 0))
    #expect(answers(to: [through], ten + "\rx\r\n").first == .failed(.tooLong, 0))
    // A CR that turns out to belong to the line.
    #expect(answers(to: [.line(.crlf, limit: 10)], ten + "\rx\n").first == .failed(.tooLong, 0))
    #expect(answers(to: [.line(.crlf, limit: 10)], ten + "\r").first == .failed(.tooLong, 0))
    #expect(answers(to: [.line(.crlf, limit: 0)], "\r\n").first == .frame("", 0))
  }

  // E13
  @Test("a frame that is too long leaves the bytes for other reads, and answers the reads behind it")
  func tooLong() {
    var feed = FrameFeed([.line(limit: 3), .line(), .exactly(1)])
    feed.arrive(Array("abcdef\nrest".utf8))
    #expect(feed.answers == [.failed(.tooLong, 0), .failed(.tooLong, 1), .failed(.tooLong, 2)])
    feed.read(.line(), tag: 9)
    #expect(feed.answers.last == .frame("abcdef", 9))
    #expect(feed.takeUnread() == Array("rest".utf8))
  }

  // Report 41
  @Test("a peer that never sends the delimiter is found out when the limit is passed")
  func endless() {
    for framing in [
      Framing.line(limit: 65_536), .through([13, 10], limit: 65_536), .line(.any, limit: 65_536),
    ] {
      var feed = FrameFeed([framing])
      let piece = [UInt8](repeating: 97, count: 4_096)
      var sent = 0
      while feed.answers.isEmpty, sent < 64_000_000 {
        feed.arrive(piece)
        sent += piece.count
      }
      #expect(feed.answers == [.failed(.tooLong, 0)])
      #expect(feed.mostBuffered <= 65_536 + piece.count)
    }
  }

  // MARK: - The end

  // G7, report 7
  @Test("at the end every byte is still brought, and what cannot be whole stays to be taken")
  func ends() {
    var feed = FrameFeed([.exactly(4), .exactly(4), .exactly(4), .line()])
    feed.arrive(Array("0123456789".utf8))
    feed.end()
    #expect(
      feed.answers == [.frame("0123", 0), .frame("4567", 1), .failed(.cut, 2), .failed(.cut, 3), .ended])
    #expect(feed.takeUnread() == Array("89".utf8))
  }

  // G7
  @Test("the end is told after the last byte: when a read has met it or nothing is left")
  func endIsHeldBack() {
    var feed = FrameFeed([.line()])
    feed.arrive(Array("one\ntwo\n".utf8))
    feed.end()
    #expect(feed.answers == [.frame("one", 0)])
    feed.read(.line(), tag: 1)
    #expect(feed.answers == [.frame("one", 0), .frame("two", 1), .ended])
  }

  // G7
  @Test("an owner who always reads again is answered while bytes are left, and then told of the end")
  func readsAgain() {
    var queue = FrameQueue()
    queue.enqueue(.exactly(9), tag: 0)
    queue.bytesArrived(Array("one\ntwo".utf8))
    queue.streamEnded()
    #expect(queue.next(now: 0) == .failed(.frame(.cut, "read"), tag: 0))
    queue.enqueue(.line(), tag: 1)
    #expect(queue.next(now: 0) == .frame(Array("one".utf8), tag: 1))
    queue.enqueue(.exactly(9), tag: 2)
    #expect(queue.next(now: 0) == .ended(nil))
    #expect(queue.unread == Array("two".utf8))
    var all = FrameQueue()
    for tag in 0..<3 { all.enqueue(.toEnd(), tag: tag) }
    all.bytesArrived([120])
    all.streamEnded()
    #expect(all.next(now: 0) == .frame([120], tag: 0))
    #expect(all.next(now: 0) == .frame([], tag: 1))
    #expect(all.next(now: 0) == .ended(nil))
  }

  // G8
  @Test("a failure is told by the read that cannot be answered, behind the bytes that came before it")
  func failures() {
    var feed = FrameFeed([.exactly(2), .line()])
    feed.arrive(Array("abcd".utf8))
    feed.fail(.posix(104, "read"))
    #expect(feed.answers == [.frame("ab", 0), .broken(104, 1), .ended])
    #expect(feed.queue.unread == Array("cd".utf8))
  }

  // MARK: - Push back

  // E17
  @Test("bytes that are pushed back come first")
  func pushBack() {
    var feed = FrameFeed([.exactly(3)])
    feed.arrive(Array("abcdef".utf8))
    feed.pushBack(Array("xy".utf8))
    feed.pushBack(Array("0123456789".utf8))
    #expect(feed.queue.unread == Array("0123456789xydef".utf8))
    feed.read(.through(Array("yd".utf8)), tag: 1)
    #expect(feed.answers.last == .frame("0123456789xyd", 1))
  }

  // E17
  @Test("a search under way starts anew when bytes are pushed back or taken")
  func searchStartsAnew() {
    var feed = FrameFeed([.line()])
    feed.arrive(Array("abc".utf8))
    feed.pushBack(Array("x\ny".utf8))
    #expect(feed.answers == [.frame("x", 0)])
    feed.read(.line(), tag: 1)
    #expect(feed.takeUnread() == Array("yabc".utf8))
    feed.arrive(Array("\n".utf8))
    #expect(feed.answers.last == .frame("", 1))
  }
}
