// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// CoreFoundation's streams against the server of the program openssl, which sends each line back reversed.

#if TLS

import CoreFoundation
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite("CoreFoundation's streams and the program openssl", .timeLimit(.minutes(2)))
struct OpenSSLServerTests {
  // S188: the best that both have.
  @Test("a negotiated level is TLS 1.3 with a server that has it, and TLS 1.2 with one that has not")
  func negotiated() throws {
    for (option, version) in [(nil, "TLSv1.3"), ("-tls1_2", "TLSv1.2")] as [(String?, String)] {
      let (server, port) = try Self.start(option.map { [$0] } ?? [])
      let pair = CFPair(port: port)
      #expect(pair.secure(believing) && pair.secure(level: kCFStreamSocketSecurityLevelNegotiatedSSL))
      #expect(greet(pair, "hello\n") == "olleh\n")
      #expect(pair.peerCertificates == [TestCertificates.shared.bytes("localhost.der")])
      pair.close()
      try server.collect { $0.contains("Protocol version: \(version)\n") && $0.contains("CONNECTION CLOSED") }
    }
  }

  // S188: Negotiated means at least TLS 1.2.
  @Test("a server of TLS 1.1 is refused by the negotiated level, and reached by TLSv1")
  func old() throws {
    let (server, port) = try Self.start(["-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"])
    let pair = CFPair(port: port)
    #expect(pair.secure(believing))
    #expect(greet(pair, "hello\n") == "3: \(StreamError.TLS.noCommonVersion.rawValue)")
    pair.close()
    let old = CFPair(port: port)
    #expect(old.secure(believing) && old.secure(level: kCFStreamSocketSecurityLevelTLSv1))
    #expect(greet(old, "hello\n") == "olleh\n")
    old.close()
    try server.collect { $0.contains("Protocol version: TLSv1.1\n") }
  }

  private static func start(_ options: [String]) throws -> (ServerProcess, UInt16) {
    let made = TestCertificates.shared
    let server = try ServerProcess(
      "openssl",
      [
        "s_server", "-accept", "127.0.0.1:0", "-cert", made.certificate("localhost"), "-key",
        made.key("localhost"), "-rev",
      ] + options)
    return (server, try server.number(after: "ACCEPT 127.0.0.1:"))
  }
}

#endif
