// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

import Testing

@testable import SocketStreamsTLS

@Suite("Lists of application protocols")
struct ApplicationProtocolsTests {
  @Test("a list is each name after its length")
  func wire() throws {
    #expect(
      try #require(ApplicationProtocols(["h2", "http/1.1"])).wire == [2] + "h2".utf8 + [8] + "http/1.1".utf8)
    #expect(try #require(ApplicationProtocols([])).wire.isEmpty)
  }

  @Test("a name has 1 to 255 bytes, and all of them no more than a message has room for")
  func lengths() {
    let longest = String(repeating: "x", count: 255)
    #expect(ApplicationProtocols([longest])?.wire.count == 256)
    #expect(ApplicationProtocols([""]) == nil)
    #expect(ApplicationProtocols(["h2", longest + "x"]) == nil)
    // 128 characters, 256 bytes.
    #expect(ApplicationProtocols([String(repeating: "é", count: 128)]) == nil)
    #expect(ApplicationProtocols([String](repeating: longest, count: 255)) != nil)
    #expect(ApplicationProtocols([String](repeating: longest, count: 256)) == nil)
  }

  // J6
  @Test("the first own name that the peer has is chosen, wherever in its list that is")
  func choice() throws {
    let own = try #require(ApplicationProtocols(["h2", "http/1.1"]))
    #expect(own.choice(from: [8] + Array("http/1.1".utf8) + [2] + Array("h2".utf8)) == 10..<12)
    #expect(own.choice(from: [1, 0x78, 8] + Array("http/1.1".utf8)) == 3..<11)
    #expect(own.choice(from: [2] + Array("h3".utf8)) == nil)
    #expect(own.choice(from: [1] + Array("h".utf8) + [3] + Array("h2c".utf8)) == nil)
    #expect(own.choice(from: []) == nil)
  }

  @Test("a list that ends in the middle of a name is read up to there")
  func cut() throws {
    let own = try #require(ApplicationProtocols(["h2"]))
    #expect(own.choice(from: [3] + Array("h2".utf8)) == nil)
    #expect(own.choice(from: [2] + Array("h2".utf8) + [9]) == 1..<3)
    #expect(own.choice(from: [200]) == nil)
  }
}

#endif
