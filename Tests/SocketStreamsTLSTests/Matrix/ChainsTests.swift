// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Whom a client believes.
#if TLS

import SocketStreams
import SocketStreamsTLS
import Testing

@Suite("Chains of certificates", .timeLimit(.minutes(3)))
struct ChainsTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let certificate: String
    var chain: String?
    var failures: Set<StreamError.TLS> = []
    var testDescription: String { chain ?? certificate }
  }

  private static let cases = [
    Case(certificate: "localhost"),
    Case(certificate: "rsa"),
    Case(certificate: "by-intermediate", chain: "by-intermediate-chain.pem"),
    Case(certificate: "by-intermediate", failures: [.unknownIssuer]),
    Case(certificate: "by-unknown", failures: [.unknownIssuer]),
    Case(certificate: "by-unknown", chain: "by-unknown-chain.pem", failures: [.unknownRoot]),
    Case(certificate: "self-signed", failures: [.unknownRoot]),
    Case(certificate: "expired", failures: [.certificateExpired]),
    Case(certificate: "not-yet-valid", failures: [.certificateNotYetValid]),
    // It is for clients only.
    Case(certificate: "client", failures: [.chainInvalid, .wrongHost]),
  ]

  // J3, J10
  @Test(
    "a chain that does not lead to a trusted root now is refused, and the error says why", arguments: cases)
  func chain(_ one: Case) throws {
    let server = try PythonServer("echo", one.certificate, chain: one.chain)
    let client = try SecureClient(port: server.port)
    if one.failures.isEmpty {
      #expect(client.failure == nil)
      #expect(try client.echo())
      let leaf = try #require(client.peer?.certificates.first)
      #expect(leaf == (try TestCertificates.shared.x509(one.certificate)))
    } else {
      let failure = try #require(client.failure)
      #expect(failure.tls.map(one.failures.contains) == true, "\(failure)")
      #expect(failure.operation == "TLS handshake")
      server.expect("no handshake")
    }
  }

  // J3
  @Test("by default the system's roots are trusted, which do not know the tests' authority")
  func systemRoots() throws {
    let server = try PythonServer("echo")
    #expect(try SecureClient(port: server.port, .client()).failure?.tls == .unknownIssuer)
    var settings = TLSSettings.client()
    settings.roots = .systemAnd([try TestCertificates.shared.root()])
    #expect(try SecureClient(port: server.port, settings).failure == nil)
  }

  // J11
  @Test("the name's check can be left out, and the chain is checked still")
  func chainOnly() throws {
    let other = try PythonServer("echo", "other.test")
    #expect(try SecureClient(port: other.port, .trusting { $0.verification = .chainOnly }).failure == nil)
    for (name, code) in [("expired", StreamError.TLS.certificateExpired), ("by-unknown", .unknownIssuer)] {
      let server = try PythonServer("echo", name)
      let client = try SecureClient(port: server.port, .trusting { $0.verification = .chainOnly })
      #expect(client.failure?.tls == code)
    }
  }

  // J11
  @Test(
    "with no check at all anybody is believed",
    arguments: ["expired", "by-unknown", "self-signed", "other.test", "common-name"])
  func noCheck(name: String) throws {
    let server = try PythonServer("echo", name)
    let client = try SecureClient(port: server.port, .trusting { $0.verification = .dangerouslyNone })
    #expect(client.failure == nil)
    #expect(try client.echo())
  }

  // J10
  @Test("a pinned key has to be in the chain, besides everything else")
  func pins() throws {
    let made = TestCertificates.shared
    let server = try PythonServer("echo", "by-intermediate", chain: "by-intermediate-chain.pem")
    for name in ["by-intermediate", "intermediate", "root"] {
      let settings = try TLSSettings.trusting { $0.pinnedKeys = [try made.x509(name).keyHash] }
      #expect(try SecureClient(port: server.port, settings).failure == nil, "\(name)")
    }
    let other = try TLSSettings.trusting { $0.pinnedKeys = [try made.x509("localhost").keyHash] }
    let refused = try SecureClient(port: server.port, other).failure
    #expect(refused?.tls == .notApproved && refused?.detail == "no pinned key is in the chain")
    let expired = try PythonServer("echo", "expired")
    let pinned = try TLSSettings.trusting { $0.pinnedKeys = [try made.x509("expired").keyHash] }
    #expect(try SecureClient(port: expired.port, pinned).failure?.tls == .certificateExpired)
  }

  // J10
  @Test("the approval is asked last, with what was agreed upon, and its no ends the connection")
  func approval() throws {
    let server = try PythonServer("echo")
    let asked = Shared<[TLSPeer]>([])
    let saysYes = Shared(false)
    let settings = try TLSSettings.trusting {
      $0.approval = TLSApproval { peer in
        asked.with { $0.append(peer) }
        return saysYes.value
      }
    }
    let denied = try SecureClient(port: server.port, settings).failure
    #expect(denied?.tls == .notApproved && denied?.detail == "the approval said no")
    saysYes.with { $0 = true }
    let client = try SecureClient(port: server.port, settings)
    #expect(client.failure == nil)
    #expect(try client.echo())
    #expect(asked.value.count == 2)
    #expect(asked.value.last?.certificates == client.peer?.certificates)
    let wrong = try PythonServer("echo", "other.test")
    #expect(try SecureClient(port: wrong.port, settings).failure?.tls == .wrongHost)
    #expect(asked.value.count == 2)
  }
}

#endif
