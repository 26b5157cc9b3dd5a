// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

import COpenSSL
import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Identities by name")
struct ServerNameTests {
  private func shown(for name: String?, by server: TLSSettings) throws -> TLSCertificate? {
    var client = try TLSSettings.trusting()
    client.verification = .dangerouslyNone
    client.maximumVersion = .tls12
    let old = try MemoryHandshake(client, server, name: name)
    client.maximumVersion = nil
    let new = try MemoryHandshake(client, server, name: name)
    #expect(old.isDone && new.isDone)
    #expect(old.client.peerChain == new.client.peerChain)
    return new.client.peerChain.first
  }

  private func certificate(_ name: String) throws -> TLSCertificate { try TestCertificates.shared.x509(name) }

  // J9
  @Test("the name that a client asks for chooses; an unknown one, or none, gets the first")
  func chosen() throws {
    var server = try TLSSettings.serving("localhost")
    server.otherIdentities = try ["a.test", "b.test", "wildcard"].map(TestCertificates.shared.identity)
    #expect(try shown(for: "a.test", by: server) == certificate("a.test"))
    #expect(try shown(for: "B.TEST", by: server) == certificate("b.test"))
    #expect(try shown(for: "x.example.test", by: server) == certificate("wildcard"))
    #expect(try shown(for: "localhost", by: server) == certificate("localhost"))
    #expect(try shown(for: "unknown.test", by: server) == certificate("localhost"))
    #expect(try shown(for: nil, by: server) == certificate("localhost"))
  }

  @Test("just the name goes before a wildcard, whichever comes first")
  func wildcardLast() throws {
    let folder = TemporaryFolder()
    _ = try shell(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout \(folder.path)/x.key -subj /CN=x"
        + " -addext subjectAltName=DNS:x.example.test -out \(folder.path)/x.pem 2>/dev/null")
    let exact = try TLSIdentity(certificateFile: "\(folder.path)/x.pem", keyFile: "\(folder.path)/x.key")
    var server = try TLSSettings.serving("wildcard")
    server.otherIdentities = [exact]
    #expect(try shown(for: "x.example.test", by: server) == exact.certificates[0])
    #expect(try shown(for: "y.example.test", by: server) == certificate("wildcard"))
  }

  @Test("a chosen identity brings its own chain and kind of key, and nothing is left of the first")
  func chains() throws {
    let certificates = TestCertificates.shared
    let chain = try TLSIdentity(
      certificateFile: certificates.file("by-intermediate-chain.pem"),
      keyFile: certificates.key("by-intermediate"))
    var client = try TLSSettings.trusting()
    var server = try TLSSettings.serving("a.test")
    server.otherIdentities = [chain]
    #expect(try MemoryHandshake(client, server).client.peerChain == chain.certificates)
    // A client that would rather have an RSA key: the default identity's, if it still were there.
    server = try TLSSettings.serving("rsa")
    server.otherIdentities = [try TestCertificates.shared.identity("a.test")]
    client.maximumVersion = .tls12
    client.ciphers = "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256"
    server.ciphers = client.ciphers
    let made = try MemoryHandshake(client, server, name: "a.test")
    #expect(made.isDone)
    #expect(made.client.peerChain == (try [TestCertificates.shared.x509("a.test")]))
  }
}

@Suite("Application protocols of both sides")
struct ProtocolChoiceTests {
  private func handshake(_ offered: [String], _ spoken: [String]) throws -> MemoryHandshake {
    var client = try TLSSettings.trusting()
    client.applicationProtocols = offered
    var server = try TLSSettings.serving()
    server.applicationProtocols = spoken
    return try MemoryHandshake(client, server)
  }

  // J6
  @Test("a server's order decides")
  func order() throws {
    let made = try handshake(["http/1.1", "h2"], ["h2", "http/1.1"])
    #expect(made.isDone)
    #expect(made.client.applicationProtocol == "h2")
    #expect(made.server.applicationProtocol == "h2")
    #expect(try handshake(["x", "http/1.1"], ["h2", "http/1.1"]).client.applicationProtocol == "http/1.1")
  }

  // J6
  @Test("nothing in common fails; nothing offered, or nothing known, does not")
  func noneInCommon() throws {
    let made = try handshake(["h3"], ["h2"])
    #expect(!made.isDone)
    #expect(made.client.failure == "tlsv1 alert no application protocol")
    for (offered, spoken) in [([], ["h2"]), (["h2"], []), ([], [])] {
      let made = try handshake(offered, spoken)
      #expect(made.isDone)
      #expect(made.client.applicationProtocol == nil)
    }
  }
}

@Suite("Resumption of sessions")
struct ContextResumptionTests {
  /// Whether the second of two connections goes on with the first one's keys.
  private func isResumed(_ client: TLSSettings, _ server: TLSSettings) throws -> Bool {
    let (client, server) = (try SSLContext(client), try SSLContext(server))
    let first = MemoryHandshake(client, server)
    #expect(first.isDone && !first.client.isResumed)
    let session = first.takeSession()
    defer { SSL_SESSION_free(session) }
    let second = MemoryHandshake(client, server, session: session)
    #expect(second.isDone)
    return second.client.isResumed
  }

  // J16
  @Test("sessions are resumed unless a side says no", arguments: [TLSVersion.tls12, .tls13])
  func resumed(version: TLSVersion) throws {
    var client = try TLSSettings.trusting()
    client.maximumVersion = version
    var server = try TLSSettings.serving()
    #expect(try isResumed(client, server))
    server.resumesSessions = false
    #expect(try !isResumed(client, server))
    server.resumesSessions = true
    client.resumesSessions = false
    if version == .tls12 { #expect(try !isResumed(client, server)) }
  }

  // J16
  @Test("those with a client's certificate are, too", arguments: [TLSVersion.tls12, .tls13])
  func resumedWithCertificate(version: TLSVersion) throws {
    var client = try TLSSettings.trusting()
    client.maximumVersion = version
    client.identity = try TestCertificates.shared.identity("client")
    var server = try TLSSettings.serving()
    server.roots = .only(try [TestCertificates.shared.root()])
    server.clientCertificates = .required
    #expect(try isResumed(client, server))
  }

  @Test("a server keeps no sessions itself, so that clients cannot fill its memory")
  func kept() throws {
    let (client, server) = (try SSLContext(TLSSettings.trusting()), try SSLContext(TLSSettings.serving()))
    for _ in 0..<3 { #expect(MemoryHandshake(client, server).isDone) }
    #expect(SSL_CTX_sessions(server.pointer) != nil)
    #expect(SSL_CTX_ctrl(server.pointer, SSL_CTRL_SESS_NUMBER, 0, nil) == 0)
  }
}

#endif
