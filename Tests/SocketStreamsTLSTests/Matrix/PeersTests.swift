// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Programs that other people wrote.
#if TLS

import SocketStreams
import SocketStreamsTLS
import Testing

@Suite("Other people's TLS", .timeLimit(.minutes(3)))
struct PeersTests {
  // J1, J17
  @Test("openssl s_server", arguments: ["-tls1_2", "-tls1_3"])
  func opensslServer(version: String) throws {
    let (server, port) = try OpenSSLPeer.server("localhost", version, "-rev")
    let client = try SecureClient(port: port)
    #expect(client.failure == nil)
    #expect(client.peer?.version == (version == "-tls1_2" ? .tls12 : .tls13))
    _ = try writeAll(Array("0123456789\n".utf8), to: client.pair.output)
    #expect(try read(11, from: client.pair.input) == Array("9876543210\n".utf8))
    withExtendedLifetime(server) {}
  }

  // J2, J17
  @Test("openssl s_client", arguments: ["-tls1_2", "-tls1_3"])
  func opensslClient(version: String) throws {
    let server = try SecureServer(.serving())
    let client = try OpenSSLPeer.client(port: server.port, version, "-verify_hostname", "localhost")
    client.process.expect("Verify return code: 0 (ok)")
    client.type("to and fro")
    client.process.expect("to and fro")
    // Its command for a proper end.
    client.type("Q")
    #expect(server.hasEnded())
    #expect(server.ends == [nil])
    #expect(server.peers.map(\.version) == [version == "-tls1_2" ? .tls12 : .tls13])
  }

  // J12; trap 35 of libevent's manual
  @Test("a client's wish to renegotiate is refused")
  func clientRenegotiates() throws {
    let server = try SecureServer(.serving { $0.maximumVersion = .tls12 })
    let client = try OpenSSLPeer.client(port: server.port)
    client.process.expect("Verify return code: 0 (ok)")
    client.type("R")
    client.process.expect("RENEGOTIATING")
    client.process.expect("no renegotiation")
    #expect(server.hasEnded())
  }

  // J12
  @Test("a server's wish to renegotiate is refused")
  func serverRenegotiates() throws {
    let (server, port) = try OpenSSLPeer.server("localhost", "-tls1_2")
    let client = try SecureClient(port: port)
    #expect(client.failure == nil)
    _ = try writeAll(Array("hello\n".utf8), to: client.pair.output)
    server.process.expect("hello")
    server.type("r")
    let failure = client.readFailure()
    #expect(failure?.tls == .peerHandshakeFailure, "\(String(describing: failure))")
    server.process.expect("no renegotiation")
  }

  // J1
  @Test("keys are updated in mid-stream, by either side")
  func keyUpdates() throws {
    let (server, port) = try OpenSSLPeer.server("localhost", "-tls1_3")
    let client = try SecureClient(port: port)
    #expect(client.failure == nil)
    // Its command for an update of both sides' keys.
    server.type("K")
    // It tells of that when it prints something the next time.
    for _ in 0..<300 where !server.process.printed.contains("SSL_do_handshake -> 1") {
      _ = try writeAll(Array("ping\n".utf8), to: client.pair.output)
      try? server.process.collect(seconds: 0.2) { $0.contains("SSL_do_handshake -> 1") }
    }
    server.type("after the update")
    #expect(try read(17, from: client.pair.input, seconds: 60) == Array("after the update\n".utf8))
    _ = try writeAll(Array("answered\n".utf8), to: client.pair.output)
    server.process.expect("answered")
    let own = try SecureServer(.serving())
    let other = try OpenSSLPeer.client(port: own.port)
    other.process.expect("Verify return code: 0 (ok)")
    other.type("K")
    other.process.expect("KEYUPDATE")
    other.type("to and fro")
    other.process.expect("to and fro")
  }

  private func request(_ host: String = "localhost") -> [UInt8] {
    Array("GET /page HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n".utf8)
  }

  /// What is behind the head.
  private func body(_ reply: [UInt8]?) -> [UInt8]? {
    guard let reply, let text = Optional(String(decoding: reply.prefix(2_000), as: UTF8.self)),
      let end = text.range(of: "\r\n\r\n")
    else { return nil }
    return Array(reply.dropFirst(text[..<end.upperBound].utf8.count))
  }

  // T3, J1
  @Test("nginx: a page over HTTPS")
  func nginx() throws {
    let page = [UInt8](repeating: 0x61, count: 300_000)
    let nginx = try Nginx.secured(page)
    let client = try SecureClient(port: nginx.port, .trusting { $0.applicationProtocols = ["http/1.1"] })
    #expect(client.failure == nil)
    #expect(client.peer?.applicationProtocol == "http/1.1")
    _ = try writeAll(request(), to: client.pair.output)
    #expect(body(try readToEnd(client.pair.input, seconds: 60)) == page)
  }

  // T3, J7
  @Test("nginx: a page for clients with a certificate only")
  func nginxClients() throws {
    let page = Array("for some only".utf8)
    let nginx = try Nginx.secured(page)
    let settings = try TLSSettings.trusting { $0.identity = try TestCertificates.shared.identity("client") }
    let client = try SecureClient(port: nginx.clientsPort, settings)
    _ = try writeAll(request(), to: client.pair.output)
    #expect(body(try readToEnd(client.pair.input, seconds: 60)) == page)
    // It opens for everybody, and then says what is missing in HTTP.
    let bare = try SecureClient(port: nginx.clientsPort)
    _ = try writeAll(request(), to: bare.pair.output)
    let reply = try readToEnd(bare.pair.input, seconds: 60)
    #expect(String(decoding: reply ?? [], as: UTF8.self).hasPrefix("HTTP/1.1 400 "))
  }

  // T3, J2
  @Test("nginx as a client of our server, which it checks")
  func nginxProxy() throws {
    let reply = "HTTP/1.0 200 OK\r\nContent-Length: 100000\r\n\r\n"
    let server = try SecureServer(.serving(), .none)
    let nginx = try Nginx.secured([], before: server.port)
    let client = try #require(RawSocket(connectingTo: nginx.proxyPort))
    #expect(client.send(request()) == 0)
    // What it tries at the beginning may be there, too.
    #expect(eventually(within: 60) { !server.pairs.isEmpty })
    let pair = try #require(server.pairs.last)
    pair.unschedule(from: server.base)
    var asked: [UInt8] = []
    while !String(decoding: asked, as: UTF8.self).hasSuffix("\r\n\r\n") {
      let piece = try read(1, from: pair.input, seconds: 60)
      try #require(!piece.isEmpty)
      asked += piece
    }
    #expect(String(decoding: asked, as: UTF8.self).hasPrefix("GET /page HTTP/1.0\r\n"))
    #expect(pair.input.property(.tlsPeer)?.serverName == "localhost")
    _ = try writeAll(Array(reply.utf8) + pattern(100_000), to: pair.output, seconds: 60)
    pair.close()
    #expect(body(client.receiveAll(seconds: 60)) == pattern(100_000))
  }

  // T5, J1
  @Test("mosquitto: CONNECT is answered by CONNACK")
  func mosquitto() throws {
    let broker = try Mosquitto()
    let client = try SecureClient(port: broker.port)
    #expect(client.failure == nil)
    _ = try writeAll(MQTTPacket.connect(id: "secured").encoded, to: client.pair.output)
    var answer = try read(4, from: client.pair.input, seconds: 60)
    #expect(MQTTPacket.take(from: &answer) == MQTTPacket(kind: .connectAnswer, body: [0, 0]))
  }

  // T1, J2
  @Test("Python's ssl as a client", arguments: ["1.2", "1.3"])
  func python(newest: String) throws {
    let server = try SecureServer(.serving { $0.applicationProtocols = ["echo"] })
    let client = try PythonClient.start(
      "echo", port: server.port, "--max", newest, "--alpn", "other,echo", "--count", "500000")
    client.expect("done")
    #expect(client.printed.contains("version=TLSv\(newest) alpn=echo"))
    #expect(client.printed.contains("echoed same") && client.printed.contains("end notice"))
    #expect(server.hasEnded())
    #expect(server.ends == [nil])
    #expect(server.peers.map(\.serverName) == ["localhost"])
  }
}

#endif
