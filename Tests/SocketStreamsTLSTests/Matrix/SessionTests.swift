// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
#if TLS

import SocketStreams
import SocketStreamsTLS
import Testing

@Suite("Sessions that are resumed", .timeLimit(.minutes(3)))
struct SessionTests {
  private static let newest = ["1.2", "1.3"]

  /// Talks, and ends in order.
  private func visit(_ port: UInt16, _ settings: TLSSettings, host: String = "localhost") throws -> Bool {
    let client = try SecureClient(host, port: port, settings)
    try #require(client.failure == nil)
    // A ticket comes behind the handshake, with the first bytes at the latest.
    #expect(try client.echo())
    let isResumed = client.peer?.isResumed == true
    #expect(try client.finish())
    #expect(client.peer?.certificates.isEmpty == false)
    return isResumed
  }

  // J16
  @Test("the second connection to a server resumes the first's session", arguments: newest)
  func resumed(newest: String) throws {
    let server = try PythonServer("echo", "localhost", chain: nil, "--max", newest)
    let settings = try TLSSettings.trusting()
    #expect(try !visit(server.port, settings))
    #expect(try visit(server.port, settings))
    #expect(try visit(server.port, settings))
    server.expect("reused=True")
  }

  // J16
  @Test("our server resumes others' sessions", arguments: newest)
  func server(newest: String) throws {
    let server = try SecureServer(.serving())
    let client = try PythonClient.start("resume", port: server.port, "--max", newest)
    client.expect("done")
    #expect(client.printed.contains("reused=False") && client.printed.contains("reused=True"))
    #expect(server.peers.map(\.isResumed) == [false, true])
  }

  // J16
  @Test("a session is resumed only with the same name and the same checks", arguments: newest)
  func apart(newest: String) throws {
    let server = try PythonServer("echo", "localhost", chain: nil, "--max", newest)
    let settings = try TLSSettings.trusting()
    #expect(try !visit(server.port, settings))
    // Another name, though the same port.
    #expect(try !visit(server.port, settings, host: "127.0.0.1"))
    // Settings that believe more or less.
    let careless = try TLSSettings.trusting { $0.verification = .dangerouslyNone }
    #expect(try !visit(server.port, careless))
    let pinned = try TLSSettings.trusting {
      $0.pinnedKeys = [try TestCertificates.shared.x509("root").keyHash]
    }
    #expect(try !visit(server.port, pinned))
    #expect(try !visit(server.port, .trusting { $0.resumesSessions = false }))
    let other = try TLSSettings.trusting(peerName: "other.test")
    #expect(try SecureClient(port: server.port, other).failure?.tls == .wrongHost)
    #expect(try visit(server.port, settings))
  }

  // J16
  @Test("sessions that settings without checks have made are not taken by others", arguments: newest)
  func careless(newest: String) throws {
    let server = try PythonServer("echo", "self-signed", chain: nil, "--max", newest)
    let careless = try TLSSettings.trusting { $0.verification = .dangerouslyNone }
    #expect(try !visit(server.port, careless))
    #expect(try visit(server.port, careless))
    #expect(try SecureClient(port: server.port).failure?.tls == .unknownRoot)
  }

  // J16
  @Test("a session with a client's certificate is resumed, and has it still", arguments: newest)
  func clientCertificate(newest: String) throws {
    let made = TestCertificates.shared
    let server = try SecureServer(
      .serving {
        $0.clientCertificates = .required
        $0.roots = .only([try made.root()])
        $0.maximumVersion = newest == "1.2" ? .tls12 : .tls13
      })
    let settings = try TLSSettings.trusting { $0.identity = try made.identity("client") }
    #expect(try !visit(server.port, settings))
    #expect(try visit(server.port, settings))
    #expect(server.peers.map(\.isResumed) == [false, true])
    #expect(server.peers.last?.certificates.first == (try made.x509("client")))
  }
}

#endif
