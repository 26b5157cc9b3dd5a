// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
#if TLS

import SocketStreams
import SocketStreamsTLS
import Testing

@Suite("Certificates of clients", .timeLimit(.minutes(3)))
struct ClientCertificatesTests {
  private static let versions = ["1.2", "1.3"]

  private func server(_ version: String, _ clients: String = "required") throws -> PythonServer {
    try PythonServer(
      "echo", "localhost", chain: nil, "--max", version, "--clients", clients, "--ca",
      TestCertificates.shared.certificate("root"))
  }

  private func client(_ name: String?) throws -> TLSSettings {
    try .trusting { settings in
      if let name { settings.identity = try TestCertificates.shared.identity(name) }
    }
  }

  // J7
  @Test("a certificate that the server asks for is shown", arguments: versions)
  func given(version: String) throws {
    let server = try server(version)
    let client = try SecureClient(port: server.port, client("client"))
    #expect(client.failure == nil)
    #expect(try client.echo())
    server.expect("peer=a client")
  }

  /// Fails at the handshake in TLS 1.2. In TLS 1.3 the client is done before the server looks: it opens, and then reads
  /// the failure.
  private func expectRefusal(
    _ client: SecureClient, _ version: String, _ codes: (tls12: StreamError.TLS, tls13: StreamError.TLS)
  ) {
    if version == "1.2" {
      #expect(client.failure?.tls == codes.tls12)
      #expect(client.failure?.operation == "TLS handshake")
    } else {
      let failure = client.readFailure()
      #expect(failure?.tls == codes.tls13, "\(String(describing: failure))")
      #expect(failure?.operation == "read")
      #expect(client.pair.output.error == failure)
    }
  }

  // J7
  @Test(
    "a certificate that is missing is an error: of the handshake in TLS 1.2, of reading in TLS 1.3",
    arguments: versions)
  func missing(version: String) throws {
    let server = try server(version)
    expectRefusal(
      try SecureClient(port: server.port), version, (.peerHandshakeFailure, .certificateRequired))
  }

  // J7
  @Test("a certificate that the server does not know is an error at the same places", arguments: versions)
  func unknown(version: String) throws {
    let server = try server(version)
    expectRefusal(
      try SecureClient(port: server.port, client("client-unknown")), version,
      (.peerUnknownIssuer, .peerUnknownIssuer))
  }

  // J7
  @Test("a server that only wants a certificate takes a client without", arguments: versions)
  func optional(version: String) throws {
    let server = try server(version, "optional")
    #expect(try SecureClient(port: server.port).echo())
    #expect(try SecureClient(port: server.port, client("client")).echo())
    server.expect("peer=a client")
  }

  private func own(_ clients: TLSSettings.ClientCertificates, _ version: TLSVersion) throws -> SecureServer {
    try SecureServer(
      .serving {
        $0.clientCertificates = clients
        $0.roots = .only([try TestCertificates.shared.root()])
        $0.maximumVersion = version
      })
  }

  // J8
  @Test("our server requires certificates of others' clients", arguments: versions)
  func required(version: String) throws {
    let made = TestCertificates.shared
    let server = try own(.required, version == "1.2" ? .tls12 : .tls13)
    let good = try PythonClient.start(
      "echo", port: server.port, "--cert", made.certificate("client"), "--key", made.key("client"))
    good.expect("done")
    #expect(server.peers.last?.certificates.first == (try made.x509("client")))
    #expect(server.hasEnded(1))
    #expect(server.ends == [nil])

    let bare = try OpenSSLPeer.client(port: server.port)
    bare.process.expect(version == "1.2" ? "alert handshake failure" : "alert certificate required")
    #expect(server.hasEnded(2))
    #expect(server.ends.last??.tls == .certificateRequired)

    let unknown = try OpenSSLPeer.client(
      port: server.port, "-cert", made.certificate("client-unknown"), "-key", made.key("client-unknown"))
    unknown.process.expect("alert unknown ca")
    #expect(server.hasEnded(3))
    #expect(server.ends.last??.tls == .unknownIssuer)

    // A server's certificate is not for clients.
    let server2 = try OpenSSLPeer.client(
      port: server.port, "-cert", made.certificate("localhost"), "-key", made.key("localhost"))
    server2.process.expect("alert")
    #expect(server.hasEnded(4))
    #expect(server.ends.last??.tls == .chainInvalid)
  }

  // J8
  @Test("our server asks for certificates and does without", arguments: versions)
  func wanted(version: String) throws {
    let made = TestCertificates.shared
    let server = try own(.optional, version == "1.2" ? .tls12 : .tls13)
    let bare = try SecureClient(port: server.port)
    #expect(try bare.echo())
    #expect(server.peers.last?.certificates == [])
    let shown = try SecureClient(port: server.port, client("client"))
    #expect(try shown.echo())
    #expect(server.peers.last?.certificates.first == (try made.x509("client")))
    // What is shown has to be good.
    let unknown = try SecureClient(port: server.port, client("client-unknown"))
    expectRefusal(unknown, version, (.peerUnknownIssuer, .peerUnknownIssuer))
  }

  // J8
  @Test("our server asks for none by default, and is shown none")
  func notAsked() throws {
    let server = try SecureServer(.serving())
    let client = try SecureClient(port: server.port, client("client"))
    #expect(try client.echo())
    #expect(server.peers.last?.certificates == [])
  }
}

#endif
