// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Versions, ciphers and protocols that both sides have in common, or not.
#if TLS

import SocketStreams
import SocketStreamsTLS
import Testing

@Suite("What both sides agree upon", .timeLimit(.minutes(3)))
struct AgreementTests {
  // J12
  @Test("a server that has only TLS 1.1 is refused by default")
  func oldServer() throws {
    let (server, port) = try OpenSSLPeer.server("localhost", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0")
    let client = try SecureClient(port: port)
    #expect(client.failure?.tls == .noCommonVersion, "\(String(describing: client.failure))")
    #expect(client.failure?.operation == "TLS handshake")
    withExtendedLifetime(server) {}
  }

  // J12
  @Test("a client that has only TLS 1.1 is refused by default")
  func oldClient() throws {
    let server = try SecureServer(.serving())
    let client = try OpenSSLPeer.client(port: server.port, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0")
    client.process.expect("alert protocol version")
    #expect(server.hasEnded())
    #expect(server.ends.last??.tls == .noCommonVersion)
  }

  // J12
  @Test("TLS 1.1 is spoken if the settings ask for it")
  func oldWanted() throws {
    let (server, port) = try OpenSSLPeer.server(
      "localhost", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0", "-rev")
    let settings = try TLSSettings.trusting {
      $0.minimumVersion = .tls11
      $0.ciphers = "ALL:@SECLEVEL=0"
    }
    let client = try SecureClient(port: port, settings)
    #expect(client.failure == nil)
    #expect(client.peer?.version == .tls11)
    _ = try writeAll(Array("abc\n".utf8), to: client.pair.output)
    #expect(try read(4, from: client.pair.input) == Array("cba\n".utf8))
    withExtendedLifetime(server) {}
  }

  // J12, J17
  @Test(
    "the newest version that both have is spoken", arguments: [("1.2", TLSVersion.tls12), ("1.3", .tls13)])
  func version(newest: String, expected: TLSVersion) throws {
    let server = try PythonServer("echo", "localhost", chain: nil, "--max", newest)
    let client = try SecureClient(port: server.port)
    #expect(client.peer?.version == expected)
    #expect(client.peer?.cipher.isEmpty == false)
    #expect(try client.echo())
    // The other way round.
    let own = try SecureServer(.serving { $0.maximumVersion = expected })
    #expect(try SecureClient(port: own.port).peer?.version == expected)
    #expect(
      try SecureClient(port: own.port, .trusting { $0.maximumVersion = .tls12 }).peer?.version == .tls12)
    let strict = try SecureClient(port: own.port, .trusting { $0.minimumVersion = .tls13 })
    #expect(strict.failure?.tls == (expected == .tls12 ? .noCommonVersion : nil))
  }

  // J12
  @Test("no cipher in common fails on both sides")
  func ciphers() throws {
    let server = try SecureServer(
      .serving {
        $0.maximumVersion = .tls12
        $0.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"
      })
    let good = try SecureClient(port: server.port)
    #expect(good.peer?.cipher == "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")
    let bad = try SecureClient(
      port: server.port, .trusting { $0.ciphers = "ECDHE-ECDSA-AES256-GCM-SHA384" })
    // The alert for that says no more than that there was no agreement.
    #expect(bad.failure?.tls == .peerHandshakeFailure)
    #expect(eventually(within: 30) { server.ends.contains { $0?.tls == .noCommonCipher } })
  }

  // J6
  @Test("the server's order decides which protocol is spoken, and both sides can read it")
  func protocols() throws {
    let (server, port) = try OpenSSLPeer.server("localhost", "-alpn", "http/1.1,h2", "-rev")
    let client = try SecureClient(port: port, .trusting { $0.applicationProtocols = ["h2", "http/1.1"] })
    #expect(client.peer?.applicationProtocol == "http/1.1")
    let own = try SecureServer(.serving { $0.applicationProtocols = ["b", "a"] })
    let both = try SecureClient(port: own.port, .trusting { $0.applicationProtocols = ["a", "b"] })
    #expect(both.peer?.applicationProtocol == "b")
    #expect(try both.echo())
    #expect(eventually { own.peers.last?.applicationProtocol == "b" })
    let other = try OpenSSLPeer.client(port: own.port, "-alpn", "x,a")
    other.process.expect("ALPN protocol: a")
    withExtendedLifetime(server) {}
  }

  // J6
  @Test("no protocol in common fails on both sides; nothing offered is no failure")
  func noProtocol() throws {
    let (server, port) = try OpenSSLPeer.server("localhost", "-alpn", "http/1.1")
    let client = try SecureClient(port: port, .trusting { $0.applicationProtocols = ["h2"] })
    #expect(client.failure?.tls == .noCommonProtocol)
    let own = try SecureServer(.serving { $0.applicationProtocols = ["a"] })
    let other = try SecureClient(port: own.port, .trusting { $0.applicationProtocols = ["b"] })
    #expect(other.failure?.tls == .noCommonProtocol)
    #expect(own.hasEnded())
    #expect(own.ends.last??.tls == .noCommonProtocol)
    let silent = try SecureClient(port: own.port)
    #expect(silent.failure == nil && silent.peer?.applicationProtocol == nil)
    #expect(try silent.echo())
    // A server that knows no ALPN answers nothing to it.
    let python = try PythonServer("echo")
    let unanswered = try SecureClient(port: python.port, .trusting { $0.applicationProtocols = ["h2"] })
    #expect(unanswered.failure == nil && unanswered.peer?.applicationProtocol == nil)
    withExtendedLifetime(server) {}
  }

  // J9
  @Test("a server shows the certificate of the name that it was asked for, and else its first")
  func identities() throws {
    let made = TestCertificates.shared
    let server = try SecureServer(
      .serving {
        $0.otherIdentities = [
          try made.identity("a.test"), try made.identity("b.test"), try made.identity("wildcard"),
        ]
      })
    for (asked, shown) in [
      ("a.test", "a.test"), ("b.test", "b.test"), ("B.TEST", "b.test"), ("x.example.test", "wildcard"),
      ("localhost", "localhost"), ("c.test", "localhost"), ("127.0.0.1", "localhost"),
    ] {
      let client = try SecureClient(
        port: server.port, .trusting(peerName: asked) { $0.verification = .chainOnly })
      #expect(client.peer?.certificates.first == (try made.x509(shown)), "\(asked)")
      // Before the client goes: an end that comes with the last word of the handshake is all that the server hears.
      if asked == "a.test" { #expect(eventually { server.peers.contains { $0.serverName == asked } }) }
      withExtendedLifetime(client) {}
    }
    let other = try OpenSSLPeer.client(
      port: server.port, "-servername", "a.test", "-verify_hostname", "a.test")
    other.process.expect("Verify return code: 0 (ok)")
    let python = try PythonClient.start("echo", port: server.port, "--name", "b.test")
    python.expect("done")
    #expect(python.printed.contains("peer=b.test"))
  }
}

#endif
