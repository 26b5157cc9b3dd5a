// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Field reports of the kinds framing, text, write and timer, on real sockets; see also the pure suites of Logic/.
import SocketStreams
import Testing

@Suite("Field reports: frames", .timeLimit(.minutes(3)))
struct FramingRegressions {
  /// What a reader of lines of a fresh connection tells, on which the peer sends `pieces`, each after the one before was
  /// seen.
  private func lines(_ framings: [Framing], _ pieces: [[UInt8]]) throws -> [String] {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let framed = FramedLink(link.pair, on: base, reportsPartial: true)
    for (tag, framing) in framings.enumerated() { framed.reader.read(framing, tag: tag) }
    var sent = 0
    for piece in pieces {
      link.peer.send(piece)
      sent += piece.count
      #expect(eventually { link.pair.input.property(.bytesRead) ?? 0 == sent })
    }
    link.peer.shutdownWrite()
    #expect(framed.log.hears("ended"))
    return framed.log.all.filter { !$0.contains(" of ") && !$0.contains("opened") }
  }

  // Report 38
  @Test("reads to a delimiter and of a length share out the bytes, whatever the packets")
  func mixedReads() throws {
    let input = Array("A\r\nBCDE\r\nF".utf8)
    let crlf = Array("\r\n".utf8)
    for cut in [0, 1, 2, 3, 7, 8, 9] {
      #expect(
        try lines(
          [.through(crlf), .exactly(4), .through(crlf), .exactly(1)],
          [Array(input[..<cut]), Array(input[cut...])].filter { !$0.isEmpty })
          == ["0: \"A\\r\\n\"", "1: \"BCDE\"", "2: \"\\r\\n\"", "3: \"F\"", "ended"])
    }
  }

  // Report 40
  @Test("a line of exactly the limit passes and a longer one fails, whatever the packets")
  func lineLimit() throws {
    for cut in [0, 5, 10, 11] {
      let right = Array("0123456789\r\n".utf8)
      #expect(
        try lines([.line(limit: 10)], [Array(right[..<cut]), Array(right[cut...])].filter { !$0.isEmpty })
          == ["0: \"0123456789\"", "ended"])
    }
    let log = FramedLog()
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let reader = FramedReader(link.pair.input, on: base) { _, event in log.note(event) }
    reader.read(.line(limit: 10))
    link.peer.send(Array("0123456789x\r\n".utf8))
    #expect(log.hears("0: streams 33"))
  }

  // Report 41
  @Test("64 MB without a line end are refused when little more than the limit has come")
  func noDelimiter() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let held = Shared(0)
    let failed = Gate()
    let reader = FramedReader(link.pair.input, on: base) { reader, event in
      guard case .failed(let error, _) = event, error.isFrameTooLong else { return }
      held.with { $0 = reader.bufferedByteCount }
      reader.close()
      failed.open()
    }
    reader.read(.line(limit: 65_536))
    let sender = onThread { [peer = link.peer] in
      _ = peer.send([UInt8](repeating: 97, count: 64_000_000))
    }
    #expect(failed.wait(seconds: 30))
    #expect(held.value > 65_536 && held.value <= 65_536 + 32_768)
    link.pair.close()
    #expect(sender.wait(seconds: 30))
  }

  // Report 43
  @Test("frames behind heads of odd length come right, byte by byte")
  func oddAddresses() throws {
    for head in [1, 3] {
      let framing = Framing.lengthPrefixed(.eightBytes)
      let input =
        Array("abc".utf8.prefix(head)) + LengthPrefix(.eightBytes).encode(3)! + Array("xyz".utf8)
        + LengthPrefix(.eightBytes).encode(0)!
      #expect(
        try lines([.exactly(head), framing, framing], input.map { [$0] })
          == ["0: \("abc".prefix(head).debugDescription)", "1: \"xyz\"", "2: \"\"", "ended"])
    }
  }

  // Report 44
  @Test("a frame of 20 MB in small pieces takes memory for little more than itself")
  func largeFrame() async {
    await #expect(processExitsWith: .success) {
      let size = 20_000_000
      let link = try TCPLink()
      let base = try EventBase.startThread()
      let done = Gate()
      let count = Shared(0)
      let reader = FramedReader(link.pair.input, on: base) { _, event in
        guard case .frame(let bytes, _) = event else { return }
        count.with { $0 = bytes.count }
        done.open()
      }
      let before = residentBytes()
      reader.read(.exactly(size))
      let piece = [UInt8](repeating: 5, count: 4_096)
      for _ in 0..<size / 4_096 { link.peer.send(piece) }
      link.peer.send(piece.prefix(size % 4_096))
      #expect(done.wait(seconds: 60))
      #expect(count.value == size)
      // Sanitizers have memory of their own for each byte.
      #expect(isSanitized || residentBytes() - before < 3 * size)
    }
  }

  // Report 19
  @Test("a character whose bytes come in two packets is whole, and a bad one leaves the stream alone")
  func cutCharacter() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let texts = Shared<[String]>([])
    let decoder = Shared(UTF8Decoder())
    let reader = FramedReader(link.pair.input, on: base) { reader, event in
      guard case .frame(let bytes, let tag) = event else { return }
      let text = decoder.with { $0.decode(bytes) }
      texts.with { $0.append(text) }
      reader.read(.available(), tag: tag + 1)
    }
    reader.read(.available())
    link.peer.send([0xE4, 0xBD])
    #expect(eventually { texts.value.count == 1 })
    link.peer.send([0xA0, 0x0A])
    #expect(eventually { texts.value.joined() == "\u{4F60}\n" })
    link.peer.send([0xFF, 0x0A])
    #expect(eventually { texts.value.joined() == "\u{4F60}\n\u{FFFD}\n" })
    link.peer.send(Array("on\n".utf8))
    #expect(eventually { texts.value.joined().hasSuffix("on\n") })
  }

  // Report 7
  @Test("a short tail that comes with the end is handed over by the read that it does not satisfy")
  func tail() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = FramedLog()
    let reader = FramedReader(link.pair.input, on: base) { reader, event in
      log.note(event)
      if case .failed(let error, _) = event, error.isEndOfFrames {
        log.note("\(reader.takeBuffered().count) left")
      }
    }
    link.peer.send([UInt8](repeating: 1, count: 16))
    link.peer.close()
    reader.read(.exactly(100), tag: 1)
    #expect(log.hears("ended"))
    #expect(log.all.suffix(3) == ["1: streams 32", "16 left", "ended"])
  }
}
