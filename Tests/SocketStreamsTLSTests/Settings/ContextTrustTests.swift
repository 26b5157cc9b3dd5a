// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

import COpenSSL
import Glibc
import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Whom a client believes")
struct ContextTrustTests {
  private func verify(_ identity: String, name: String? = "localhost", roots: TLSSettings.Roots) throws
    -> Int32
  {
    var client = TLSSettings.client()
    client.roots = roots
    let made = try MemoryHandshake(client, TLSSettings.serving(identity), name: name)
    #expect(made.isDone == (made.client.verifyResult == X509_V_OK))
    return made.client.verifyResult
  }

  private func verify(_ identity: String, name: String? = "localhost") throws -> Int32 {
    try verify(identity, name: name, roots: .only([TestCertificates.shared.root()]))
  }

  // J3, J4. Field report 55.
  @Test("a chain to a root and the name are checked")
  func checked() throws {
    #expect(try verify("localhost") == X509_V_OK)
    #expect(try verify("rsa") == X509_V_OK)
    #expect(try verify("other.test") == X509_V_ERR_HOSTNAME_MISMATCH)
    #expect(try verify("expired") == X509_V_ERR_CERT_HAS_EXPIRED)
    #expect(try verify("not-yet-valid") == X509_V_ERR_CERT_NOT_YET_VALID)
    #expect(try verify("by-unknown") == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY)
    #expect(try verify("self-signed") == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT)
  }

  // Field report 55
  @Test("a common name is no name, and a wildcard stands for one whole label")
  func names() throws {
    #expect(try verify("common-name") == X509_V_ERR_HOSTNAME_MISMATCH)
    #expect(try verify("wildcard", name: "a.example.test") == X509_V_OK)
    #expect(try verify("wildcard", name: "a.b.example.test") == X509_V_ERR_HOSTNAME_MISMATCH)
    #expect(try verify("wildcard", name: "example.test") == X509_V_ERR_HOSTNAME_MISMATCH)
  }

  @Test("a client's certificate is none for a server")
  func purpose() throws {
    #expect(try verify("client", name: nil) == X509_V_ERR_INVALID_PURPOSE)
  }

  @Test("an issuer that the server leaves out is missed, and not found by itself")
  func missingIntermediate() throws {
    #expect(try verify("by-intermediate") == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY)
    let certificates = TestCertificates.shared
    var client = try TLSSettings.trusting()
    let chain = TLSSettings.server(
      try TLSIdentity(
        certificateFile: certificates.file("by-intermediate-chain.pem"),
        keyFile: certificates.key("by-intermediate")))
    let made = try MemoryHandshake(client, chain)
    #expect(made.isDone)
    #expect(made.client.peerChain == chain.identity?.certificates)
    // A server does not look among its roots for what to send.
    var server = try TLSSettings.serving("by-intermediate")
    server.roots = .only(
      try [TestCertificates.shared.x509("intermediate")] + [TestCertificates.shared.root()])
    server.clientCertificates = .optional
    client.verification = .dangerouslyNone
    #expect(try MemoryHandshake(client, server).client.peerChain.count == 1)
  }

  // J10
  @Test("a root may be an intermediate, or the server's own certificate, whoever vouches for it")
  func partialChains() throws {
    #expect(
      try verify("by-intermediate", roots: .only([TestCertificates.shared.x509("intermediate")])) == X509_V_OK
    )
    #expect(try verify("localhost", roots: .only([TestCertificates.shared.x509("localhost")])) == X509_V_OK)
    #expect(
      try verify("self-signed", roots: .only([TestCertificates.shared.x509("self-signed")])) == X509_V_OK)
    #expect(
      try verify("a.test", name: "a.test", roots: .only([TestCertificates.shared.x509("localhost")]))
        == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY)
  }

  // J11
  @Test("without verification anybody will do, and only then")
  func dangerous() throws {
    for identity in ["self-signed", "expired", "client"] {
      var client = try TLSSettings.trusting()
      client.verification = .dangerouslyNone
      #expect(try MemoryHandshake(client, TLSSettings.serving(identity)).isDone)
      client.verification = .chainOnly
      #expect(try !MemoryHandshake(client, TLSSettings.serving(identity), name: nil).isDone)
    }
  }

  // J3
  @Test("the system's roots do not have the tests' own, which can be added to them")
  func system() throws {
    #expect(try verify("localhost", roots: .system) != X509_V_OK)
    #expect(try verify("localhost", roots: .systemAnd([TestCertificates.shared.root()])) == X509_V_OK)
    // J10
    for (server, trusted) in [("by-intermediate", "intermediate"), ("localhost", "localhost")] {
      let roots = TLSSettings.Roots.systemAnd([try TestCertificates.shared.x509(trusted)])
      #expect(try verify(server, roots: roots) == X509_V_OK)
    }
  }

  // J3
  @Test("the system's roots are where the environment says", arguments: ["SSL_CERT_FILE", "SSL_CERT_DIR"])
  func environment(variable: String) async throws {
    let certificates = TestCertificates.shared
    let folder = TemporaryFolder()
    let root = try folder.write(certificates.bytes("root.pem"), to: "root.pem")
    _ = try shell("openssl rehash \(folder.path)")
    let value = variable == "SSL_CERT_FILE" ? root : folder.path
    let (certificate, key) = (certificates.certificate("localhost"), certificates.key("localhost"))
    await #expect(processExitsWith: .success) {
      [
        variable = variable as String, value = value as String, certificate = certificate as String,
        key = key as String
      ] in
      let server = TLSSettings.server(try TLSIdentity(certificateFile: certificate, keyFile: key))
      let before = try MemoryHandshake(.client(), server).isDone
      setenv(variable, value, 1)
      let after = try MemoryHandshake(.client(), server).isDone
      precondition(!before && after)
    }
  }

  // J10
  @Test("roots of one's own come instead of the system's, or besides them")
  func onlyOwn() async {
    await #expect(processExitsWith: .success) {
      let certificates = TestCertificates.shared
      setenv("SSL_CERT_FILE", certificates.certificate("root"), 1)
      let (server, unknown) = (try TLSSettings.serving(), try certificates.x509("unknown"))
      var client = TLSSettings.client()
      client.roots = .only([unknown])
      #expect(try !MemoryHandshake(client, server).isDone)
      client.roots = .systemAnd([unknown])
      #expect(try MemoryHandshake(client, server).isDone)
    }
  }
}

@Suite("Whom a server believes")
struct ClientCertificateTests {
  private func handshake(
    _ asked: TLSSettings.ClientCertificates, shown: String?, verification: TLSSettings.Verification = .full
  ) throws -> MemoryHandshake {
    var server = try TLSSettings.serving()
    server.roots = .only(try [TestCertificates.shared.root()])
    server.clientCertificates = asked
    server.verification = verification
    var client = try TLSSettings.trusting()
    client.identity = try shown.map(TestCertificates.shared.identity)
    return try MemoryHandshake(client, server)
  }

  // J7, J8
  @Test("a client's certificate is not asked for, optional or required")
  func asked() throws {
    #expect(try handshake(.notAsked, shown: nil).isDone)
    #expect(try handshake(.notAsked, shown: "client").server.peerChain.isEmpty)
    #expect(try handshake(.optional, shown: nil).isDone)
    #expect(try handshake(.optional, shown: "client").isDone)
    #expect(try handshake(.required, shown: "client").isDone)
    let without = try handshake(.required, shown: nil)
    #expect(!without.isDone)
    #expect(without.server.failure == "peer did not return a certificate")
  }

  // J8
  @Test("one that is shown has to be good, optional or not", arguments: ["client-unknown", "localhost"])
  func wrong(shown: String) throws {
    #expect(try !handshake(.optional, shown: shown).isDone)
    #expect(try !handshake(.required, shown: shown).isDone)
    // J11
    #expect(try handshake(.required, shown: shown, verification: .dangerouslyNone).isDone)
    #expect(try !handshake(.required, shown: nil, verification: .dangerouslyNone).isDone)
  }

  @Test("a client is told whose certificates are wanted")
  func authorities() throws {
    let made = try handshake(.optional, shown: nil)
    let names = SSL_get0_peer_CA_list(made.client.ssl)
    #expect(OPENSSL_sk_num(names) == 1)
  }
}

#endif
