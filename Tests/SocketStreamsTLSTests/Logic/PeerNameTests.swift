// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
#if TLS

import Testing

@testable import SocketStreamsTLS

@Suite("Whom a client means")
struct PeerNameTests {
  // J5, field report 56
  @Test(
    "an address is told from a name, and has no zone",
    arguments: [
      ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("[::1]", "::1"), ("fe80::1%no-such-interface", "fe80::1"),
      ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
    ])
  func addresses(text: String, address: String) {
    let name = PeerName(text)
    #expect(name?.text == address && name?.isAddress == true)
  }

  @Test(
    "a name has no closing dot",
    arguments: [
      ("localhost", "localhost"), ("a.example.test.", "a.example.test"), ("A-1.my_host", "A-1.my_host"),
      ("1.2.3.a", "1.2.3.a"), ("7c0a", "7c0a"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
    ])
  func names(text: String, name: String) {
    let parsed = PeerName(text)
    #expect(parsed?.text == name && parsed?.isAddress == false)
  }

  // J5
  @Test(
    "what ends with a number is no name, as the system may take it for an address",
    arguments: ["1.2.3", "127.1", "2130706433", "127.0.0.1.", "1.2.3.256", "a.1"])
  func numbers(text: String) {
    #expect(PeerName(text) == nil)
  }

  @Test(
    "what OpenSSL would take for another name, or DNS for none, is no name",
    arguments: [
      "", ".", ".example.test", "a..b", "example.test..", "a b", "bücher.example", "*.example.test", "a\0.b",
      "a\n", "[::1", "[[::1]]",
      "a:80", "::1::", String(repeating: "a", count: 64), String(repeating: "a.", count: 127) + "a.",
    ])
  func refused(text: String) {
    #expect(PeerName(text) == nil)
  }

  @Test("the longest labels and names there can be")
  func longest() {
    let label = String(repeating: "a", count: 63)
    #expect(PeerName(label) != nil)
    let name = String(repeating: "a.", count: 126) + "a"
    #expect(name.utf8.count == 253 && PeerName(name)?.text == name && PeerName(name + ".")?.text == name)
    #expect(PeerName(name + "a") == nil)
  }
}

#endif
