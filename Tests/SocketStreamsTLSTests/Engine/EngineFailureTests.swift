// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
#if TLS

import COpenSSL
import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Engines: failures")
struct EngineFailureTests {
  static let reset: Int32 = 104  // ECONNRESET

  // J15
  @Test("an end of the wire without close_notify is a failure, after the bytes that came")
  func truncation() throws {
    let pair = try EnginePair.connected()
    pair.server.write("cut")
    pair.pass()
    pair.clientWire.isEnded = true
    let heard = pair.client.readAll()
    #expect(heard.bytes == Array("cut".utf8))
    #expect(heard.last == .failed(StreamError.TLS.closedWithoutNotice.rawValue))
    #expect(pair.client.failure?.tls == .closedWithoutNotice)
    #expect(pair.client.failure?.operation == "read")
    #expect(pair.client.failure?.detail == "unexpected eof while reading")
    #expect(pair.client.readOnce().result == heard.last && pair.client.peek() == heard.last)
    #expect(ERR_peek_error() == 0)
  }

  @Test("an end of the wire within a record is a failure, and the record is not given out")
  func cutRecord() throws {
    let pair = try EnginePair.connected()
    _ = pair.client.readAll()
    pair.server.write(pattern(1_000))
    pair.serverWire.pass(to: pair.clientWire, atMost: 500)
    pair.clientWire.isEnded = true
    #expect(pair.client.peek() == .failed(StreamError.TLS.closedWithoutNotice.rawValue))
    #expect(pair.client.readAll().bytes.isEmpty)
  }

  @Test("a failure of the wire is told as the wire told it, after the bytes that came")
  func wireFailure() throws {
    let pair = try EnginePair.connected()
    pair.server.write("before")
    pair.pass()
    pair.clientWire.failure = Self.reset
    let heard = pair.client.readAll()
    #expect(heard.bytes == Array("before".utf8) && heard.last == .failed(Self.reset))
    #expect(pair.client.failure == .posix(Self.reset, "read"))
    #expect(pair.client.write("more") == .failed(Self.reset))
    pair.client.finishSending()
    #expect(pair.clientWire.sent.isEmpty)
  }

  @Test("the wire's end and failure during the handshake")
  func handshakeCut() throws {
    let ended = try EnginePair()
    _ = ended.client.handshake()
    ended.clientWire.isEnded = true
    #expect(ended.client.handshake() == .failed && ended.client.handshake() == .failed)
    #expect(ended.client.failure?.tls == .closedWithoutNotice)
    #expect(ended.client.failure?.operation == "TLS handshake")
    let failed = try EnginePair()
    _ = failed.client.handshake()
    failed.clientWire.failure = Self.reset
    #expect(failed.client.handshake() == .failed)
    #expect(failed.client.failure == .posix(Self.reset, "TLS handshake"))
  }

  @Test(
    "a peer that does not speak TLS",
    arguments: ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "SSH-2.0-x\r\n", "220 mail ESMTP\r\n"])
  func garbage(text: String) throws {
    let server = try EnginePair()
    server.serverWire.arrive(Array(text.utf8))
    #expect(server.server.handshake() == .failed)
    #expect(server.server.failure?.tls == .protocolError)
    #expect(server.server.failure?.detail != "")
    let client = try EnginePair()
    _ = client.client.handshake()
    client.clientWire.arrive(Array(text.utf8))
    #expect(client.client.handshake() == .failed)
    #expect(client.client.failure?.tls == .protocolError)
  }

  @Test(
    "a record that was changed on its way fails, after those before it",
    arguments: EngineBytesTests.versions)
  func changedRecord(version: TLSVersion) throws {
    let pair = try EnginePair.connected(client: EngineSettings.client.only(version))
    _ = pair.client.readAll()
    pair.server.write("good")
    let good = pair.serverWire.sent.count
    pair.server.write("changed")
    pair.serverWire.sent[good + 20] ^= 1
    pair.pass()
    #expect(pair.client.peek() == .bytes(4))
    let heard = pair.client.readAll()
    #expect(heard.bytes == Array("good".utf8))
    #expect(pair.client.failure?.tls == .badRecord)
    // The server learns of it.
    pair.pass()
    #expect(pair.server.readAll().last == .failed(StreamError.TLS.peerAlert.rawValue))
    #expect(pair.server.failure?.detail.contains("bad record mac") == true)
  }

  // J3, J4, field report 55
  @Test(
    "a certificate that is not the wanted one fails for its own reason, and the server learns it",
    arguments: [
      ("other.test", StreamError.TLS.wrongHost), ("common-name", .wrongHost), ("wildcard", .wrongHost),
      ("self-signed", .unknownRoot), ("by-unknown", .unknownIssuer), ("expired", .certificateExpired),
      ("not-yet-valid", .certificateNotYetValid), ("client", .chainInvalid),
    ])
  func wrongCertificate(name: String, code: StreamError.TLS) throws {
    let pair = try EnginePair(server: EngineSettings.server(name))
    #expect(pair.shakeHands().client == .failed)
    #expect(pair.client.failure?.tls == code, "\(pair.failures)")
    #expect(pair.client.failure?.operation == "TLS handshake")
    _ = pair.server.handshake()
    _ = pair.server.readAll()
    #expect(pair.server.failure?.domain == .tls, "\(pair.failures)")
    #expect(ERR_peek_error() == 0)
  }

  // J5, field report 56
  @Test("an address is checked as one, and not sent; a name that looks like one does not do")
  func address() throws {
    let good = try EnginePair(server: EngineSettings.server("ip"), host: "127.0.0.1")
    #expect(good.shakeHands().client == .done, "\(good.failures)")
    #expect(good.server.tlsPeer?.serverName == nil && good.client.tlsPeer?.serverName == nil)
    let version6 = try EnginePair(host: "::1%lo")
    #expect(version6.shakeHands().client == .done, "\(version6.failures)")
    let bad = try EnginePair(server: EngineSettings.server("dns-ip"), host: "127.0.0.1")
    #expect(bad.shakeHands().client == .failed)
    #expect(bad.client.failure?.tls == .wrongHost)
  }

  // J5
  @Test("a name is sent without its closing dot")
  func name() throws {
    let pair = try EnginePair(host: "localhost.")
    #expect(pair.shakeHands().client == .done, "\(pair.failures)")
    #expect(pair.server.tlsPeer?.serverName == "localhost")
  }

  @Test(
    "checking a name needs one that can be checked", arguments: [nil, ".example.test", "a b", "", "x\0y"])
  func noName(host: String?) throws {
    let error = #expect(throws: StreamError.self) { try EnginePair(host: host) }
    #expect(error?.tls == .badSettings)
    let unchecked = EngineSettings.client.with { $0.verification = .chainOnly }
    let pair = try EnginePair(client: unchecked, server: EngineSettings.server("other.test"), host: host)
    #expect(pair.shakeHands().client == .done, "\(pair.failures)")
  }

  // J12
  @Test("sides without a version in common fail, each for its reason")
  func versions() throws {
    let pair = try EnginePair(
      client: EngineSettings.client.only(.tls12), server: EngineSettings.server.only(.tls13))
    pair.shakeHands()
    #expect(pair.server.failure?.tls == .noCommonVersion)
    #expect(pair.client.failure?.tls == .noCommonVersion)
  }

  // J12
  @Test("sides without a cipher in common fail")
  func ciphers() throws {
    let pair = try EnginePair(
      client: EngineSettings.client.only(.tls12).with { $0.ciphers = "ECDHE-RSA-AES128-GCM-SHA256" })
    pair.shakeHands()
    #expect(pair.server.failure?.tls == .noCommonCipher)
    #expect(pair.client.failure?.tls == .peerHandshakeFailure)
  }

  // J6
  @Test("sides without an application protocol in common fail, each for that reason")
  func protocols() throws {
    let pair = try EnginePair(
      client: EngineSettings.client.with { $0.applicationProtocols = ["a"] },
      server: EngineSettings.server.with { $0.applicationProtocols = ["b"] })
    pair.shakeHands()
    #expect(pair.server.failure?.tls == .noCommonProtocol)
    #expect(pair.client.failure?.tls == .noCommonProtocol)
  }

  // J8
  @Test("a client without the certificate that is required fails, since TLS 1.3 only when it reads")
  func clientCertificate() throws {
    let server = EngineSettings.server.with {
      $0.clientCertificates = .required
      $0.roots = EngineSettings.client.roots
    }
    let pair = try EnginePair(client: EngineSettings.client.only(.tls13), server: server)
    #expect(pair.shakeHands() == (.done, .failed))
    #expect(pair.server.failure?.tls == .certificateRequired)
    #expect(pair.client.readAll().last == .failed(StreamError.TLS.certificateRequired.rawValue))
    #expect(pair.client.failure?.operation == "read")
    let older = try EnginePair(client: EngineSettings.client.only(.tls12), server: server)
    #expect(older.shakeHands().client == .failed)
    #expect(older.client.failure?.tls == .peerHandshakeFailure)
  }

  // J7
  @Test("a client's certificate that nobody trusts is refused, and the client learns why")
  func unknownClient() throws {
    let server = EngineSettings.server.with {
      $0.clientCertificates = .required
      $0.roots = EngineSettings.client.roots
    }
    let pair = try EnginePair(
      client: EngineSettings.client.with { $0.identity = EngineSettings.server("client-unknown").identity },
      server: server)
    pair.shakeHands()
    #expect(pair.server.failure?.tls == .unknownIssuer)
    _ = pair.client.readAll()
    #expect(pair.client.failure?.tls == .peerUnknownIssuer)
  }

  // J10
  @Test("an approval gets what was agreed upon, and a refusal is a failure that stays")
  func approval() throws {
    let asked = TLSApproval { $0.serverName == "localhost" && $0.certificates.count == 1 }
    let pair = try EnginePair(client: EngineSettings.client.with { $0.approval = asked })
    #expect(pair.client.approval == nil)
    pair.shakeHands()
    #expect(pair.client.approval?() == true)
    #expect(pair.server.approval == nil)
    pair.client.refuse()
    #expect(pair.client.failure?.tls == .notApproved)
    #expect(pair.client.readOnce().result == .failed(StreamError.TLS.notApproved.rawValue))
    #expect(pair.client.write("x") == .failed(StreamError.TLS.notApproved.rawValue))
  }
}

#endif
