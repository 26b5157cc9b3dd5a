// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What was found, or was looked for in vain, by trying to break TLS.
#if TLS

import COpenSSL
import Glibc
import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Found by trying: TLS", .timeLimit(.minutes(10)))
struct FoundByTrying {
  // RFC 8446, 4.6: such messages may come at any time, in any number of records.
  @Test("bytes can be sent while a part of a ticket is missing")
  func writeAmidTickets() throws {
    let certificates = TestCertificates.shared
    let server = EngineSettings.server("localhost").with {
      $0.clientCertificates = .required
      $0.roots = .only([try! certificates.root()])
    }
    let client = EngineSettings.client.with { $0.identity = try? certificates.identity("client") }
    let pair = try EnginePair(client: client, server: server)
    // SSL_CTRL_SET_MAX_SEND_FRAGMENT
    #expect(SSL_ctrl(pair.server.connection.ssl, 52, 512, nil) == 1)
    while pair.client.handshake() != .done {
      _ = pair.server.handshake()
      pair.pass()
      try #require(pair.client.failure == nil && pair.server.failure == nil, "\(pair.failures)")
    }
    pair.clientWire.pass(to: pair.serverWire)
    #expect(pair.server.handshake() == .done)
    var (sent, stops) = (0, 0)
    while pair.serverWire.pass(to: pair.clientWire, atMost: 1) {
      _ = pair.client.peek()
      guard pair.client.canSend else {
        stops += 1
        continue
      }
      if pair.client.write("x") == .bytes(1) { sent += 1 }
    }
    #expect(pair.client.failure == nil, "\(pair.failures) after \(sent)")
    #expect(stops > 0 && sent > stops && pair.client.canSend)
    pair.clientWire.pass(to: pair.serverWire)
    #expect(pair.server.readAll().bytes.count == sent)
  }

  // Others use OpenSSL on the same thread, and would take it for their own.
  @Test("a certificate that is refused leaves nothing in the thread's queue of errors")
  func queueOfErrors() {
    ErrorQueue.clear()
    #expect(throws: StreamError.self) { try TLSCertificate(der: [0x30, 1]) }
    #expect(throws: StreamError.self) {
      try TLSCertificate.certificates(in: Array("-----BEGIN CERTIFICATE-----".utf8))
    }
    #expect(throws: StreamError.self) { try TLSIdentity(certificates: [0x30, 1], key: [0x30, 1]) }
    #expect(ERR_peek_error() == 0)
  }

  @Test(
    "damaged files of every kind are refused, or read, and never more",
    arguments: scriptSeeds(isSanitized ? 1 : 4))
  func damagedFiles(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let certificates = TestCertificates.shared
    let sources = [
      (certificates.bytes("localhost.pem"), certificates.bytes("localhost.key")),
      (certificates.bytes("localhost.p12"), certificates.bytes("localhost.p12")),
    ]
    let der = try TLSCertificate.certificates(inFile: certificates.certificate("localhost"))[0].der
    for _ in 0..<(isSanitized ? 100 : 250) {
      for (certificate, key) in sources {
        var (first, second) = (certificate, key)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          first[Int.random(in: 0..<first.count, using: &random)] = .random(in: 0...255, using: &random)
          second[Int.random(in: 0..<second.count, using: &random)] = .random(in: 0...255, using: &random)
        }
        _ = try? TLSIdentity(certificates: first, key: second, passphrase: TestCertificates.passphrase)
        _ = try? TLSIdentity(certificates: certificate, key: second, passphrase: TestCertificates.passphrase)
        _ = try? TLSCertificate.certificates(in: first)
        _ = try? TLSCertificate.certificates(
          in: Array(first.prefix(Int.random(in: 0...first.count, using: &random))))
      }
      var damaged = der
      damaged[Int.random(in: 0..<der.count, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
      if let certificate = try? TLSCertificate(der: damaged) {
        _ = certificate.keyHash
        var settings = TLSSettings.client(peerName: "localhost")
        settings.roots = .only([certificate])
        _ = try? settings.makeEngine(for: SecurityTarget(host: nil, port: nil))
      }
    }
    #expect(ERR_peek_error() == 0)
  }

  @Test("connections that are cut anywhere fail or end, and nothing of them stays")
  func cutAnywhere() throws {
    let server = try SecureServer(.serving())
    let listener = try RawListener()
    let before = openSockets()
    var (failed, ended) = (0, 0)
    let base = try EventBase.startThread()
    for round in 0..<(isSanitized ? 60 : 400) {
      let pair = StreamPair(host: "localhost", port: listener.port)
      try pair.startTLS(.trusting())
      if round.isMultiple(of: 2) { pair.schedule(on: base) }
      pair.open()
      try pair.output.write(moving: StreamBuffer(pattern(3_000)))
      let near = try #require(listener.accept())
      let far = try #require(RawSocket(connectingTo: server.port))
      let (up, down) = (Int.random(in: 0...5_000), Int.random(in: 0...6_000))
      let resets = round.isMultiple(of: 3)
      let relay = onThread {
        let gates = [onThread { Self.pump(near, far, up) }, onThread { Self.pump(far, near, down) }]
        for gate in gates { _ = gate.wait(seconds: 60) }
        if resets {
          near.reset()
          far.reset()
        } else {
          near.close()
          far.close()
        }
      }
      if round.isMultiple(of: 5) {
        pair.close()
      } else if round.isMultiple(of: 7) {
        pair.abort()
      } else {
        var count = 0
        do {
          while true {
            try #require(pair.input.waitUntilReady(timeout: .seconds(60)), "round \(round) \(up) \(down)")
            let piece = try pair.input.read(upTo: 700)?.count
            if piece == 0 { break }
            count += piece ?? 0
            if count == 3_000 { break }
          }
          ended += 1
        } catch { failed += 1 }
        pair.close()
      }
      try #require(relay.wait(seconds: 60), "round \(round) \(up) \(down)")
    }
    server.forget()
    #expect(failed > 0)
    #expect(
      eventually(within: 60) { openSockets().subtracting(before).isEmpty },
      "\(openSockets().subtracting(before)) \(failed) \(ended)")
    base.stop()
    base.join()
  }

  /// Passes on so many bytes at most, or until the end, and ends both then.
  private static func pump(_ source: RawSocket, _ target: RawSocket, _ limit: Int) {
    var (room, rest) = ([UInt8](repeating: 0, count: 4_096), limit)
    while rest > 0 {
      let count = recv(source.fd, &room, min(room.count, rest), 0)
      guard count > 0, target.send(room[..<count]) == 0 else { break }
      rest -= count
    }
    _ = shutdown(source.fd, Int32(SHUT_RDWR))
    _ = shutdown(target.fd, Int32(SHUT_RDWR))
  }

  @Test("everybody calls everything at once, and the pair is over")
  func everythingAtOnce() throws {
    let server = try SecureServer(.serving())
    let bases = try [EventBase.startThread(), EventBase.startThread()]
    let before = openSockets()
    for round in 0..<(isSanitized ? 40 : 300) {
      let pair = StreamPair(host: "localhost", port: server.port)
      let over = Gate()
      pair.whenOver { over.open() }
      try pair.startTLS(
        .trusting {
          if round.isMultiple(of: 2) {
            $0.approval = TLSApproval { [weak input = pair.input, weak output = pair.output] _ in
              if round.isMultiple(of: 4) {
                input?.close()
                output?.close()
              }
              return !round.isMultiple(of: 6)
            }
          }
        })
      pair.schedule(on: bases[round % 2])
      pair.open()
      let gates = (0..<4).map { index in
        onThread {
          for step in 0..<Int.random(in: 1...60) {
            switch Int.random(in: 0..<9) {
            case 0: pair.input.setClient(.all) { stream, _ in _ = try? stream.read(upTo: 100) }
            case 1: pair.output.setClient(.all) { stream, _ in _ = try? stream.write(pattern(100)) }
            case 2: pair.schedule(on: bases[step % 2])
            case 3: pair.input.unschedule(from: bases[step % 2])
            case 4: try? pair.output.write(moving: StreamBuffer(pattern(5_000)))
            case 5: _ = pair.output.waitUntilReady(timeout: .milliseconds(5))
            case 6: _ = pair.input.withAvailableBytes(atLeast: 20_000) { $0.byteCount / 2 }
            case 7: _ = pair.input.hasBytesAvailable
            default: try? pair.startTLS(.client())
            }
          }
          if index == 0 { pair.input.close() }
          if index == 1 { pair.output.close() }
          if index == 2, round.isMultiple(of: 3) { pair.abort() }
        }
      }
      for gate in gates { try #require(gate.wait(seconds: 60)) }
      pair.close()
      try #require(over.wait(seconds: 60), "round \(round) \(pair.input) \(pair.output)")
    }
    server.forget()
    #expect(
      eventually(within: 60) { openSockets().subtracting(before).isEmpty },
      "\(openSockets().subtracting(before)) \(server.pairs.map { "\($0.input) \($0.output)" })")
    for base in bases {
      base.stop()
      base.join()
    }
  }
}

#endif
