// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
#if TLS

import COpenSSL
import SocketStreams
import Synchronization
import Testing

@testable import SocketStreamsTLS

@Suite("Engines: what was agreed upon, and sessions")
struct EngineSessionTests {
  // J17
  @Test("both sides tell what was agreed upon", arguments: EngineBytesTests.versions)
  func peer(version: TLSVersion) throws {
    let certificates = TestCertificates.shared
    let client = EngineSettings.client.only(version).with {
      $0.identity = EngineSettings.server("client").identity
      $0.applicationProtocols = ["second", "first"]
    }
    let server = try TLSSettings.server(
      TLSIdentity(
        certificateFile: certificates.file("by-intermediate-chain.pem"),
        keyFile: certificates.key("by-intermediate"))
    ).with {
      $0.clientCertificates = .required
      $0.roots = EngineSettings.client.roots
      $0.applicationProtocols = ["first", "second"]
    }
    let pair = try EnginePair(client: client, server: server)
    #expect(pair.client.peer == nil)
    pair.shakeHands()
    let toClient = try #require(pair.client.peer as? TLSPeer, "\(pair.failures)")
    let toServer = try #require(pair.server.peer as? TLSPeer, "\(pair.failures)")
    #expect(toClient.version == version && toServer.version == version)
    #expect(toClient.cipher == toServer.cipher && toClient.cipher.hasPrefix("TLS_"))
    #expect(toClient.applicationProtocol == "first" && toServer.applicationProtocol == "first")
    #expect(toClient.serverName == "localhost" && toServer.serverName == "localhost")
    #expect(!toClient.isResumed && !toServer.isResumed)
    let expected = try ["by-intermediate", "intermediate"].flatMap {
      try TLSCertificate.certificates(inFile: certificates.certificate($0))
    }
    #expect(toClient.certificates == expected)
    // The client may show who vouches for it, too.
    let shown = try TLSCertificate.certificates(inFile: certificates.certificate("client"))
    #expect(toServer.certificates.first == shown.first)
  }

  // J16
  @Test(
    "a connection that ended in order is resumed, again and again", arguments: EngineBytesTests.versions)
  func resumed(version: TLSVersion) throws {
    let client = EngineSettings.client.only(version)
    for round in 0..<4 {
      let pair = try EnginePair.connected(client: client, port: 1_000)
      #expect(
        pair.client.tlsPeer?.isResumed == (round > 0) && pair.server.tlsPeer?.isResumed == (round > 0))
      #expect(pair.client.tlsPeer?.certificates.count == 1)
      pair.server.write("x")
      pair.pass()
      #expect(pair.client.readAll().bytes == [0x78])
      pair.close()
    }
  }

  @Test(
    "only the own side's or only the peer's end keeps a session, too", arguments: EngineBytesTests.versions,
    [true, false])
  func oneSidedEnd(version: TLSVersion, isClients: Bool) throws {
    let port: UInt16 = isClients ? 1_001 : 1_002
    for round in 0..<2 {
      let pair = try EnginePair.connected(client: EngineSettings.client.only(version), port: port)
      #expect(pair.client.tlsPeer?.isResumed == (round > 0))
      if isClients { pair.client.finishSending() } else { pair.server.finishSending() }
      pair.pass()
      #expect(pair.client.readAll().last == (isClients ? .wouldBlock : .end))
    }
  }

  @Test("a connection that failed is not resumed", arguments: EngineBytesTests.versions)
  func failed(version: TLSVersion) throws {
    for _ in 0..<2 {
      let pair = try EnginePair.connected(client: EngineSettings.client.only(version), port: 1_003)
      #expect(pair.client.tlsPeer?.isResumed == false)
      pair.pass()
      pair.clientWire.isEnded = true
      #expect(pair.client.readAll().last == .failed(StreamError.TLS.closedWithoutNotice.rawValue))
    }
  }

  @Test("what was agreed upon under other settings, with another host or port, is not resumed")
  func otherSettings() throws {
    let careless = EngineSettings.client.with { $0.verification = .dangerouslyNone }
    let unknown = EngineSettings.server("by-unknown")
    let first = try EnginePair.connected(client: careless, server: unknown, port: 1_004)
    first.pass()
    first.close()
    let strict = try EnginePair(client: EngineSettings.client, server: unknown, port: 1_004)
    #expect(strict.shakeHands().client == .failed)
    #expect(strict.client.failure?.tls == .unknownIssuer)
    let elsewhere = try EnginePair.connected(client: careless, server: unknown, port: 1_005)
    #expect(elsewhere.client.tlsPeer?.isResumed == false)
    let again = try EnginePair.connected(client: careless, server: unknown, port: 1_004)
    #expect(again.client.tlsPeer?.isResumed == true)
  }

  @Test("settings that resume nothing do not, nor does a client that knows no name of its peer")
  func notResumed() throws {
    let never = EngineSettings.client.with { $0.resumesSessions = false }
    for _ in 0..<2 {
      let pair = try EnginePair.connected(client: never, port: 1_006)
      #expect(pair.client.tlsPeer?.isResumed == false)
      pair.pass()
      pair.close()
    }
    let nameless = EngineSettings.client.with { $0.verification = .chainOnly }
    for _ in 0..<2 {
      let pair = try EnginePair(client: nameless, host: nil)
      pair.shakeHands()
      #expect(pair.client.tlsPeer?.isResumed == false)
      pair.close()
    }
  }

  @Test("ten thousand connections leave nothing behind")
  func memory() throws {
    func connectAndClose(resuming: Bool = true) throws {
      let client = EngineSettings.client.with { $0.resumesSessions = resuming }
      let pair = try EnginePair.connected(client: client, port: 1_007)
      pair.server.write("x")
      pair.pass()
      _ = pair.client.readAll()
      pair.close()
    }
    try connectAndClose()
    let before = LiveObjects.counts
    for round in 0..<10_000 { try connectAndClose(resuming: round % 2 == 0) }
    // Other tests run at the same time, and sessions are kept for some.
    for (before, after) in zip(before, LiveObjects.counts) { #expect(after - before < 2_000) }
  }
}

/// How many of OpenSSL's objects there are: connections, sessions, BIOs and certificates, from the first time on that this is
/// asked for.
private enum LiveObjects {
  private static let counters = (0..<4).map { _ in Counter() }
  private final class Counter: Sendable {
    let value = Atomic<Int>(0)
  }

  static var counts: [Int] {
    _ = areCounted
    return counters.map { $0.value.load(ordering: .relaxed) }
  }

  private static let areCounted: Bool = {
    let kinds = [CRYPTO_EX_INDEX_SSL, CRYPTO_EX_INDEX_SSL_SESSION, CRYPTO_EX_INDEX_BIO, CRYPTO_EX_INDEX_X509]
    for (number, kind) in kinds.enumerated() {
      let index = CRYPTO_get_ex_new_index(
        kind, number, nil,
        { _, _, _, _, number, _ in counters[number].value.add(1, ordering: .relaxed) }, nil,
        { _, _, _, _, number, _ in counters[number].value.subtract(1, ordering: .relaxed) })
      precondition(index >= 0)
    }
    return true
  }()
}

#endif
