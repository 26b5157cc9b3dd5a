// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("A host and a port as people write them")
struct HostAndPortTests {
  // A1, A2
  @Test(
    "host:port is taken apart, and put together the same way",
    arguments: [
      ("example.org:80", "example.org", 80), ("localhost:1", "localhost", 1), ("h:65535", "h", 65_535),
      ("127.0.0.1:8080", "127.0.0.1", 8080), ("[::1]:443", "::1", 443), ("[fe80::1%2]:9", "fe80::1%2", 9),
      ("größe.example:7", "größe.example", 7), ("a_b-c:7", "a_b-c", 7),
    ] as [(String, String, UInt16)])
  func good(text: String, host: String, port: UInt16) throws {
    let parsed = try HostAndPort(parsing: text)
    #expect(parsed.host == host)
    #expect(parsed.port == port)
    #expect(parsed.description == text)
  }

  @Test("zeros before a port change nothing")
  func leadingZeros() throws {
    #expect(try HostAndPort(parsing: "h:00080").port == 80)
  }

  // A4, S12, S13
  @Test(
    "what is not host:port is refused, in a sentence that says why",
    arguments: [
      ("", "the text is empty, not host:port"),
      ("http://h", "\"http://h\" is a URL, not host:port"),
      ("http://h:80/x", "\"http://h:80/x\" is a URL, not host:port"),
      ("https://[::1]:80", "\"https://[::1]:80\" is a URL, not host:port"),
      ("h:80/x", "\"h:80/x\" has a path, and host:port has none"),
      ("h", "\"h\" has no port"),
      ("[::1]", "\"[::1]\" has no port after its brackets"),
      ("[::1]80", "\"[::1]80\" has no port after its brackets"),
      (":80", "\":80\" has no host before the port"),
      ("h:", "\"h:\" has no port after the colon"),
      ("[::1]:", "\"[::1]:\" has no port after the colon"),
      ("::1", "\"::1\" has several colons, and an IPv6 address stands in brackets"),
      ("::1:80", "\"::1:80\" has several colons, and an IPv6 address stands in brackets"),
      ("h:80:81", "\"h:80:81\" has several colons, and an IPv6 address stands in brackets"),
      ("[::1:80", "\"[::1:80\" has no closing bracket"),
      ("[]:80", "\"[]:80\" has no IPv6 address in its brackets"),
      ("[h]:80", "\"[h]:80\" has no IPv6 address in its brackets"),
      ("[127.0.0.1]:80", "\"[127.0.0.1]:80\" has no IPv6 address in its brackets"),
      ("[[::1]]:80", "\"[[::1]]:80\" has no IPv6 address in its brackets"),
      ("h:http", "the port \"http\" is not a number"),
      ("h:-1", "the port \"-1\" is not a number"),
      ("h:+1", "the port \"+1\" is not a number"),
      ("h: 80", "the port \" 80\" is not a number"),
      ("h:８０", "the port \"８０\" is not a number"),
      ("h:80\n", "the port \"80?\" is not a number"),
      ("h:0", "the port 0 cannot be connected to"),
      ("h:65536", "the port 65536 is above 65535"),
      ("h:99999999999999999999", "the port 99999999999999999999 is above 65535"),
      ("a b:80", "the host in \"a b:80\" has a space or a control character"),
      (" h:80", "the host in \" h:80\" has a space or a control character"),
      ("h\0x:80", "the host in \"h?x:80\" has a space or a control character"),
      ("\u{1B}[31m:80", "the host in \"?[31m:80\" has a space or a control character"),
    ])
  func bad(text: String, sentence: String) {
    #expect(throws: StreamError.misuse(.badAddress, sentence)) { try HostAndPort(parsing: text) }
  }
}
