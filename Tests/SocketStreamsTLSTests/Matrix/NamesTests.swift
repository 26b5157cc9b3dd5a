// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Whom a certificate names, and what the client says of whom it wants.
#if TLS

import SocketStreams
import SocketStreamsTLS
import Testing

@Suite("Names and addresses in certificates", .timeLimit(.minutes(3)))
struct NamesTests {
  /// A certificate, whom a client on 127.0.0.1 wants, and what comes of it.
  struct Case: CustomTestStringConvertible, Sendable {
    let certificate: String
    var host = "127.0.0.1"
    var name: String?
    var failure: StreamError.TLS?
    var testDescription: String { "\(certificate) for \(name ?? host)" }
  }

  private static let cases = [
    Case(certificate: "localhost", host: "localhost"),
    Case(certificate: "localhost", name: "localhost."),
    Case(certificate: "localhost", host: "LocalHost"),
    Case(certificate: "localhost"),
    Case(certificate: "localhost", name: "127.0.0.1"),
    Case(certificate: "localhost", name: "::1"),
    Case(certificate: "localhost", name: "127.0.0.2", failure: .wrongHost),
    Case(certificate: "localhost", name: "other.test", failure: .wrongHost),
    Case(certificate: "other.test", name: "other.test"),
    Case(certificate: "other.test", host: "localhost", failure: .wrongHost),
    Case(certificate: "other.test", failure: .wrongHost),
    Case(certificate: "wildcard", name: "a.example.test"),
    Case(certificate: "wildcard", name: "example.test", failure: .wrongHost),
    Case(certificate: "wildcard", name: "a.b.example.test", failure: .wrongHost),
    Case(certificate: "ip"),
    Case(certificate: "ip", host: "localhost", failure: .wrongHost),
    Case(certificate: "dns-ip", failure: .wrongHost),
    Case(certificate: "common-name", host: "localhost", failure: .wrongHost),
  ]

  // J4; field reports 55, 56
  @Test("a certificate is good for the names and addresses in it and for nothing else", arguments: cases)
  func name(_ one: Case) throws {
    let server = try PythonServer("echo", one.certificate)
    let client = try SecureClient(one.host, port: server.port, .trusting(peerName: one.name))
    #expect(client.failure?.tls == one.failure, "\(String(describing: client.failure))")
    if one.failure != nil {
      // Field report 55
      #expect(client.failure?.operation == "TLS handshake")
      #expect(client.failure?.detail.isEmpty == false)
      #expect(client.pair.input.error == client.failure)
      #expect(client.peer == nil)
    } else {
      #expect(try client.echo())
      #expect(try client.finish())
    }
  }

  // J4
  @Test("an IPv6 address is checked as an address", arguments: ["::1", "[::1]"])
  func sixAddress(host: String) throws {
    let server = try PythonServer("echo", "localhost", chain: nil, "--address", "::1")
    let client = try SecureClient(host, port: server.port)
    #expect(client.failure == nil)
    server.expect("sni None")
    let wrong = try PythonServer("echo", "ip", chain: nil, "--address", "::1")
    #expect(try SecureClient(host, port: wrong.port).failure?.tls == .wrongHost)
  }

  // J5; field report 56
  @Test("a name is sent as SNI, and an address is not")
  func serverName() throws {
    for (host, name, sent) in [
      ("localhost", nil, "localhost"), ("127.0.0.1", nil, "None"),
      ("127.0.0.1", "other.test", "other.test"),
      ("localhost", "127.0.0.1", "None"),
    ] as [(String, String?, String)] {
      let server = try PythonServer("echo")
      var settings = try TLSSettings.trusting(peerName: name)
      settings.verification = .chainOnly
      let client = try SecureClient(host, port: server.port, settings)
      #expect(client.failure == nil)
      server.expect("sni \(sent)\n")
      #expect(client.peer?.serverName == (sent == "None" ? nil : sent))
    }
  }

  // J4, J11
  @Test("without a name to check, a client has to say that it checks none")
  func noName() throws {
    let server = try SecureServer(.serving())
    let address = try #require(SocketAddress(ip: "127.0.0.1", port: server.port))
    let link = try #require(RawSocket(connectingTo: server.port))
    let nameless = StreamPair(nativeSocket: link.release(), closesWhenDone: true)
    let fault = #expect(throws: StreamError.self) { try nameless.startTLS(.trusting()) }
    #expect(fault?.tls == .badSettings)
    // The address that a pair was made with is one.
    let client = try SecureClient(securing: StreamPair(address: address), .trusting(), opening: true)
    #expect(client.failure == nil)
    let chain = try SecureClient(
      securing: StreamPair(address: address), .trusting { $0.verification = .chainOnly }, opening: true)
    #expect(chain.failure == nil)
  }
}

#endif
