// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
#if TLS

import COpenSSL
import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Engines: bytes")
struct EngineBytesTests {
  static let versions: [TLSVersion] = [.tls12, .tls13]

  // J1, J2
  @Test("an agreement and an echo, in pieces of any size", arguments: versions, [1, 7, 1_000, .max])
  func echo(version: TLSVersion, step: Int) throws {
    let pair = try EnginePair(client: EngineSettings.client.only(version), server: EngineSettings.server)
    let progress = pair.shakeHands(step: step)
    try #require(progress.client == .done && progress.server == .done, "\(pair.failures)")
    #expect(pair.client.tlsPeer?.version == version)
    #expect(pair.client.write("hello") == .bytes(5))
    while pair.clientWire.pass(to: pair.serverWire, atMost: step) { _ = pair.server.peek() }
    let heard = pair.server.readAll()
    #expect(heard.bytes == Array("hello".utf8) && heard.last == .wouldBlock)
    pair.server.write(heard.bytes)
    pair.pass()
    #expect(pair.client.readAll().bytes == heard.bytes)
    #expect(pair.client.failure == nil && pair.server.failure == nil)
  }

  @Test("a megabyte arrives as it was sent, however it is cut", arguments: [333, 16_384, 40_000])
  func large(step: Int) throws {
    let pair = try EnginePair.connected()
    let bytes = pattern(1 << 20)
    pair.client.write(bytes)
    let secured = pair.clientWire.sent
    pair.clientWire.sent = []
    var heard: [UInt8] = []
    for start in stride(from: 0, to: secured.count, by: step) {
      pair.serverWire.arrive(secured[start..<min(start + step, secured.count)])
      heard += pair.server.readAll(step: 50_000).bytes
    }
    #expect(heard == bytes)
  }

  // Field report 49
  @Test(
    "bytes that were decrypted already are given out in small pieces, and told of, without more traffic")
  func smallPieces() throws {
    let pair = try EnginePair.connected()
    #expect(pair.client.readAll().last == .wouldBlock)
    pair.server.write(pattern(20_000))
    pair.pass()
    var heard: [UInt8] = []
    while heard.count < 20_000 {
      guard case .bytes(let count) = pair.client.peek(), count > 0 else { break }
      let (bytes, result) = pair.client.readOnce(512)
      guard case .bytes = result else { break }
      heard += bytes
      #expect(pair.client.holdsInput == (heard.count < 20_000), "after \(heard.count) bytes")
    }
    #expect(heard == pattern(20_000))
    #expect(pair.client.peek() == .wouldBlock)
    #expect(pair.client.readOnce().result == .wouldBlock)
  }

  @Test("two full records that have arrived cost one read of the wire and one call", arguments: [0, 30])
  func wireReads(ofNext: Int) throws {
    let pair = try EnginePair.connected()
    _ = pair.client.readAll()
    pair.server.write(pattern(2 * largestSecuredPiece))
    let passed = pair.serverWire.sent.count + ofNext
    pair.server.write("a record that has come in part")
    pair.serverWire.pass(to: pair.clientWire, atMost: passed)
    let before = pair.clientWire.reads
    let (bytes, result) = pair.client.readOnce()
    #expect(result == .bytes(2 * largestSecuredPiece) && bytes == pattern(2 * largestSecuredPiece))
    #expect(pair.clientWire.reads == before + 1)
    #expect(!pair.client.holdsInput)
  }

  @Test("the part of a record holds nothing that could be read, and the rest of it makes it whole")
  func partOfRecord() throws {
    let pair = try EnginePair.connected()
    _ = pair.client.readAll()
    pair.server.write("a whole record")
    pair.serverWire.pass(to: pair.clientWire, atMost: 12)
    #expect(pair.client.peek() == .wouldBlock)
    #expect(!pair.client.holdsInput)
    pair.pass()
    #expect(pair.client.peek() == .bytes(14))
    #expect(pair.client.holdsInput)
    #expect(pair.client.readOnce().bytes == Array("a whole record".utf8))
  }

  @Test("bytes that came together with the end of the handshake are held and told of")
  func bytesWithHandshake() throws {
    let pair = try EnginePair(client: EngineSettings.client.only(.tls12), server: EngineSettings.server)
    pair.shakeHands()
    let other = try EnginePair(client: EngineSettings.client.only(.tls13), server: EngineSettings.server)
    _ = other.client.handshake()
    other.pass()
    _ = other.server.handshake()
    other.pass()
    #expect(other.client.handshake() == .done)
    other.client.write("early")
    other.pass()
    #expect(other.server.handshake() == .done)
    #expect(other.server.holdsInput)
    #expect(other.server.peek() == .bytes(5))
    #expect(other.server.readAll().bytes == Array("early".utf8))
  }

  @Test("nothing is read before both sides agree, and a read or write of nothing does nothing")
  func nothing() throws {
    let early = try EnginePair()
    #expect(early.client.readOnce().result == .wouldBlock)
    #expect(early.client.peek() == .wouldBlock)
    early.client.finishSending()
    #expect(early.clientWire.sent.isEmpty)
    let pair = try EnginePair.connected()
    #expect(pair.client.write([]) == .bytes(0))
    #expect(pair.client.readOnce(0).result == .bytes(0))
    #expect(pair.clientWire.sent.isEmpty)
    #expect(pair.client.handshake() == .done)
  }

  // J15
  @Test(
    "the peer's close_notify is the end, for ever, and the other direction goes on", arguments: versions)
  func end(version: TLSVersion) throws {
    let pair = try EnginePair.connected(client: EngineSettings.client.only(version))
    pair.server.write("last words")
    pair.server.finishSending()
    pair.server.finishSending()
    pair.pass()
    #expect(pair.client.readAll().bytes == Array("last words".utf8))
    #expect(!pair.client.holdsInput)
    #expect(pair.client.readOnce().result == .end && pair.client.peek() == .end)
    #expect(pair.client.write("still here") == .bytes(10))
    pair.client.finishSending()
    pair.pass()
    let heard = pair.server.readAll()
    #expect(heard.bytes == Array("still here".utf8) && heard.last == .end)
    #expect(pair.client.failure == nil && pair.server.failure == nil)
  }

  // Field report 50
  @Test(
    "data and close_notify that are read together are given out one after the other, and the end is told of"
  )
  func dataAndEnd() throws {
    let pair = try EnginePair.connected()
    _ = pair.client.readAll()
    pair.server.write(pattern(10_000))
    pair.server.finishSending()
    pair.pass()
    let (bytes, result) = pair.client.readOnce()
    #expect(result == .bytes(10_000) && bytes == pattern(10_000))
    #expect(pair.client.holdsInput)
    #expect(pair.client.readOnce().result == .end)
    #expect(!pair.client.holdsInput)
  }

  @Test("bytes behind close_notify are not looked at")
  func behindEnd() throws {
    let pair = try EnginePair.connected()
    pair.server.write("data")
    pair.server.finishSending()
    pair.serverWire.sent += Array("GET / HTTP/1.0\r\n\r\n".utf8)
    pair.pass()
    let heard = pair.client.readAll()
    #expect(heard.bytes == Array("data".utf8) && heard.last == .end)
    #expect(pair.client.peek() == .end && pair.client.failure == nil)
  }

  @Test("a side whose keys change in between loses nothing, and answers with a change of its own")
  func keyUpdate() throws {
    let pair = try EnginePair.connected(client: EngineSettings.client.only(.tls13))
    for round in 0..<3 {
      #expect(SSL_key_update(pair.client.connection.ssl, SSL_KEY_UPDATE_REQUESTED) == 1)
      pair.client.write("before and after \(round)")
      pair.pass()
      #expect(pair.server.readAll().bytes == Array("before and after \(round)".utf8))
      pair.server.write("answer \(round)")
      pair.pass()
      #expect(pair.client.readAll().bytes == Array("answer \(round)".utf8))
    }
    #expect(pair.client.failure == nil && pair.server.failure == nil)
  }

  @Test("a change of keys that is asked for after the own end breaks nothing")
  func keyUpdateAfterEnd() throws {
    let pair = try EnginePair.connected(client: EngineSettings.client.only(.tls13))
    pair.server.finishSending()
    #expect(SSL_key_update(pair.client.connection.ssl, SSL_KEY_UPDATE_REQUESTED) == 1)
    pair.client.write("more")
    pair.client.finishSending()
    pair.pass()
    let heard = pair.server.readAll()
    #expect(heard.bytes == Array("more".utf8) && heard.last == .end, "\(pair.failures)")
    #expect(pair.client.readAll().last == .end)
  }

  @Test("renegotiation is refused, and the connection goes on")
  func renegotiation() throws {
    let pair = try EnginePair.connected(client: EngineSettings.client.only(.tls12))
    let ssl = pair.client.connection.ssl
    // SSL_OP_NO_RENEGOTIATION: this client would not even ask.
    SSL_clear_options(ssl, 1 << 30)
    #expect(SSL_renegotiate(ssl) == 1)
    _ = SSL_do_handshake(ssl)
    #expect(!pair.clientWire.sent.isEmpty)
    pair.pass()
    #expect(pair.server.readAll().last == .wouldBlock)
    #expect(pair.server.failure == nil)
    #expect(pair.server.write("goes on") == .bytes(7))
    pair.pass()
    #expect(
      pair.client.readOnce().result == .failed(StreamError.TLS.protocolError.rawValue), "\(pair.failures)")
  }

  @Test("errors that others leave in the thread's queue are not taken for the engine's")
  func foreignErrors() throws {
    let pair = try EnginePair.connected()
    _ = pair.client.readAll()
    var junk: UnsafePointer<UInt8>?
    #expect(d2i_X509(nil, &junk, 0) == nil)
    #expect(ERR_peek_error() != 0)
    #expect(pair.client.peek() == .wouldBlock)
    #expect(d2i_X509(nil, &junk, 0) == nil)
    #expect(pair.client.readOnce().result == .wouldBlock)
    #expect(pair.client.failure == nil)
  }
}

#endif
