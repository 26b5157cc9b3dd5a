// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("UTF-8 decoder", .timeLimit(.minutes(2)))
struct UTF8DecoderTests {
  private func decode(_ pieces: [[UInt8]], _ replacement: UTF8Decoder.Replacement = .mark) -> [String] {
    var decoder = UTF8Decoder(replacing: replacement)
    return pieces.map { decoder.decode($0) } + [decoder.finish()]
  }

  // E18, report 19
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

  // Report 19
  @Test("read strictly, what is not UTF-8 is an error of its piece, and the next one is read")
  func strict() throws {
    var decoder = UTF8Decoder()
    #expect(try decoder.decodeStrictly([0xE4, 0xBD]) == "")
    #expect(try decoder.decodeStrictly([0xA0, 0x0A]) == "\u{4F60}\n")
    let error = #expect(throws: StreamError.self) { try decoder.decodeStrictly([0xFF, 0x0A]) }
    #expect(error == .frame(.malformed, "decode"))
    #expect(try decoder.decodeStrictly([0x61]) == "a")
  }
}
