// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What an engine has taken from the wire, and is not the engine's.
#if TLS

import COpenSSL
import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Bytes behind close_notify")
struct EngineRestTests {
  /// Plain bytes of several kinds: text, what looks like a record, another handshake, nearly nothing, a lot.
  static let plain: [[UInt8]] = [
    Array("220 plain\r\n".utf8), [0x17, 3, 3, 0, 5] + Array("hello".utf8), [0x16, 3, 1, 2, 0, 1, 0, 1],
    [0x17],
    [0x15, 3], [UInt8](repeating: 0x17, count: 20_000), [],
  ]

  /// Gives all that `sender` sent and `plain` to `wire`, in pieces, reads, and expects `bytes` and then `plain`.
  private func expect(
    _ bytes: [UInt8], _ plain: [UInt8], of engine: TLSEngine, _ wire: TestWire, from sender: TestWire,
    step: Int
  ) {
    var arriving = (sender.sent + plain)[...]
    sender.sent = []
    var (read, last) = ([UInt8](), IOResult.wouldBlock)
    while !arriving.isEmpty {
      wire.arrive(arriving.prefix(step))
      arriving = arriving.dropFirst(step)
      if last == .end { continue }
      let piece = engine.readAll(step: 100)
      read += piece.bytes
      last = piece.last
    }
    #expect(last == .end && read == bytes)
    var rest: [UInt8] = []
    engine.takeRest()?.withBytes { span in span.withUnsafeBytes { rest += $0 } }
    rest += wire.takeAll()
    #expect(rest == plain, "step \(step), \(rest.count) of \(plain.count) bytes")
  }

  // J14
  @Test("they are handed back, whatever they look like, and however they are cut", arguments: plain)
  func rest(plain: [UInt8]) throws {
    for version in [TLSVersion.tls12, .tls13] {
      for step in [1, 7, 100, .max] {
        for bytes in [[], pattern(1), pattern(700)] {
          let pair = try EnginePair.connected(client: EngineSettings.client.only(version))
          pair.pass()
          _ = pair.client.readAll()
          if !bytes.isEmpty { pair.server.write(bytes) }
          pair.server.finishSending()
          expect(bytes, plain, of: pair.client, pair.clientWire, from: pair.serverWire, step: step)
        }
      }
    }
  }

  // J14
  @Test("they are handed back behind a close_notify that was padded, too")
  func padded() throws {
    for step in [1, 7, 100, .max] {
      let pair = try EnginePair.connected(client: EngineSettings.client.only(.tls13))
      pair.pass()
      _ = pair.client.readAll()
      #expect(SSL_set_block_padding(pair.server.connection.ssl, 256) == 1)
      pair.server.finishSending()
      #expect(pair.serverWire.sent.count > 256)
      expect([], Self.plain[0], of: pair.client, pair.clientWire, from: pair.serverWire, step: step)
    }
  }

  // J14
  @Test("many small pieces, each of which could be a close_notify, are all read, and the wire is asked once")
  func small() throws {
    let pair = try EnginePair.connected()
    pair.pass()
    _ = pair.client.readAll()
    for byte in pattern(200) { pair.server.write([byte]) }
    pair.pass()
    let before = pair.clientWire.reads
    #expect(pair.client.readOnce().bytes == pattern(200))
    #expect(pair.clientWire.reads == before + 1 && !pair.client.holdsInput)
    #expect(pair.client.readOnce().result == .wouldBlock)
  }

  // J14, field report 49
  @Test("pieces that wait to be read are held, and are told of")
  func held() throws {
    let pair = try EnginePair.connected()
    pair.pass()
    _ = pair.client.readAll()
    for byte in pattern(3) { pair.server.write([byte]) }
    pair.pass()
    for byte in pattern(3) {
      #expect(pair.client.peek() == .bytes(1))
      #expect(pair.client.readOnce(1).bytes == [byte])
    }
    #expect(pair.client.peek() == .wouldBlock && !pair.client.holdsInput)
  }
}

extension TestWire {
  /// Takes what the engine did not.
  func takeAll() -> [UInt8] {
    var all: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
      var span = piece.mutableSpan
      var bytes = span.mutableBytes
      guard case .bytes(let count) = receiveSecured(into: &bytes) else { return all }
      all += piece[..<count]
    }
  }
}

#endif
