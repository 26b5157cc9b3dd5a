// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a peer says to TLS itself after the handshake: much of it, or a part of it.
#if TLS

import Glibc
import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Peers that say more than data", .timeLimit(.minutes(5)))
struct HandFedTests {
  static let transports: [ConnectionOptions.Transport] = [.direct, .bufferevent]

  private func waiting(_ descriptor: Int32) -> Int {
    var count: Int32 = 0
    return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : -1
  }

  // OpenSSL goes on for as long as there is something to read that is no data.
  @Test("changes of keys without end keep a call, and a loop, busy with one arrival only")
  func manyKeys() throws {
    var descriptor: Int32 = -1
    let peer = try HandFedPeer(descriptor: &descriptor)
    try #require(peer.shakeHands())
    peer.give()
    #expect(!peer.pair.input.hasBytesAvailable && waiting(descriptor) == 0)
    peer.changeKeys(4_000, asking: false)
    let count = peer.wire.sent.count
    peer.give()
    #expect(waiting(descriptor) == count && count > 100_000)
    #expect(!peer.pair.input.hasBytesAvailable)
    let taken = count - waiting(descriptor)
    #expect(taken > 0 && taken < 5 * largestSecuredPiece, "\(taken) of \(count) in one call")
    peer.engine.write("data")
    peer.give()
    #expect(peer.pair.input.waitUntilReady(timeout: .seconds(60)))
    #expect(try read(4, from: peer.pair.input) == Array("data".utf8))
    // A loop is told of the rest by itself.
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(peer.pair, on: base)
    peer.changeKeys(4_000, asking: false)
    peer.engine.write("more")
    peer.give()
    #expect(eventually(within: 60) { log.bytes == Array("more".utf8) })
    #expect(peer.pair.input.error == nil)
    peer.pair.close()
    base.stop()
    base.join()
  }

  @Test("answers to a peer that asks for changes of keys and reads none are not queued without end")
  func manyQuestions() throws {
    var descriptor: Int32 = -1
    let peer = try HandFedPeer(descriptor: &descriptor)
    try #require(peer.shakeHands())
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(peer.pair, on: base)
    for _ in 0..<40 where peer.pair.input.status == .open {
      peer.changeKeys(1_000, asking: true)
      peer.give()
    }
    #expect(log.hears(.errorOccurred, .input, within: 60))
    #expect(peer.pair.input.error?.domain == .posix && peer.pair.input.error?.code == ENOBUFS)
    #expect((peer.pair.output.property(.queuedByteCount) ?? 0) < 500_000)
    peer.pair.close()
    base.stop()
    base.join()
  }

  enum Rest: CaseIterable { case before, after }

  // J15. OpenSSL sends no close_notify while a part of a message is missing.
  @Test(
    "the end is said in order though a part of a ticket was missing when the stream was closed",
    arguments: transports, Rest.allCases)
  func endAmidTicket(transport: ConnectionOptions.Transport, rest: Rest) throws {
    for isWholePair in [true, false] {
      let peer = try HandFedPeer.withLongTickets(transport)
      try #require(peer.shakeHands())
      #expect(peer.pair.output.canAcceptBytes)
      _ = try writeAll(pattern(1_000), to: peer.pair.output)
      try #require(peer.giveHalfTicket())
      if rest == .before { peer.give() }
      if isWholePair { peer.pair.close() } else { peer.pair.output.close() }
      if rest == .after { peer.give() }
      let (bytes, last) = peer.takeAll()
      #expect(bytes == pattern(1_000) && last == .end, "\(isWholePair) \(last)")
      guard !isWholePair else { continue }
      peer.engine.write("goes on")
      peer.engine.finishSending()
      peer.give()
      #expect(try readToEnd(peer.pair.input) == Array("goes on".utf8))
    }
  }

  // G11
  @Test("an end that cannot be said, as the peer stops within a ticket, is waited for as long as bytes are")
  func endBehindSilence() throws {
    let peer = try HandFedPeer.withLongTickets(.direct)
    try #require(peer.shakeHands() && peer.giveHalfTicket())
    let isOver = Gate()
    peer.pair.whenOver { isOver.open() }
    peer.pair.output.setProperty(.lingerTimeout, to: .milliseconds(50))
    peer.pair.close()
    #expect(isOver.wait(seconds: 60))
    #expect(peer.takeAll().last == .failed(StreamError.TLS.closedWithoutNotice.rawValue))
  }

  // J15. A connection that is closed over bytes which nobody has taken is reset, and what the kernel still had to send is lost.
  @Test("bytes behind the peer's close_notify do not cost it the last of what it is sent")
  func bytesBehindEnd() throws {
    let peer = try HandFedPeer(.direct)
    try #require(peer.shakeHands())
    peer.engine.finishSending()
    peer.give()
    #expect(try readToEnd(peer.pair.input) == [])
    peer.wire.sent += pattern(1_000)
    peer.give()
    let output = peer.pair.output
    var sent = 0
    while output.property(.queuedByteCount) == 0 { sent += try output.write(pattern(10_000)) ?? 0 }
    // All that is left is in the kernel.
    #expect(
      eventually(within: 60) {
        peer.take(10_000)
        return (try? output.flush(timeout: .milliseconds(1))) == true
      })
    peer.pair.close()
    let (bytes, last) = peer.takeAll()
    #expect(bytes.count == sent && last == .end)
  }

  enum Writer: CaseIterable { case scheduled, waiting, polling }

  // RFC 8446, 4.6
  @Test(
    "a writer gets on behind a ticket that had come in part, though nobody reads",
    arguments: transports, Writer.allCases)
  func writerAmidTicket(transport: ConnectionOptions.Transport, writer: Writer) throws {
    for closesInput in [false, true] {
      let peer = try HandFedPeer.withLongTickets(transport)
      try #require(peer.shakeHands() && peer.giveHalfTicket())
      let base = try EventBase.startThread()
      let output = peer.pair.output
      let log = PairLog()
      if closesInput { peer.pair.input.close() }
      // The write finds the part of a ticket; before that, nobody knows of it, and room may be told of.
      if writer != .waiting { #expect(try output.write([1]) == nil) }
      if writer == .scheduled { log.watch(output, on: base) }
      pass(base)
      #expect(!log.events(.output).contains(.canAcceptBytes))
      let waiter = onThread {
        if writer == .waiting { _ = output.waitUntilReady(timeout: .seconds(60)) }
      }
      peer.give()
      switch writer {
      case .scheduled: #expect(log.hears(.canAcceptBytes, .output, within: 30))
      case .waiting: #expect(waiter.wait(seconds: 30))
      case .polling: break
      }
      // Whoever was told of room gets it at once.
      if writer != .polling { #expect(try output.write(Array("abc".utf8)) == 3) }
      if writer == .polling {
        #expect(eventually(within: 30) { ((try? output.write(Array("abc".utf8))) ?? nil) == 3 })
      }
      output.close()
      let (bytes, last) = peer.takeAll()
      #expect(bytes == Array("abc".utf8) && last == .end)
      peer.pair.close()
      base.stop()
      base.join()
    }
  }

  // Who connects and who is the client are different things: FTP's connections for data, for instance.
  @Test("whoever connects may be the server of TLS, and who accepts the client", arguments: transports)
  func reversed(transport: ConnectionOptions.Transport) throws {
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let base = try EventBase.startThread()
    let accepted = Shared<StreamPair?>(nil)
    listener.schedule(on: base) { pair, _ in accepted.with { $0 = pair } }
    var options = ConnectionOptions()
    options.transport = transport
    let server = StreamPair(
      host: "127.0.0.1", port: try #require(listener.localAddress.port), options: options)
    try server.startTLS(.serving())
    server.open()
    try #require(eventually(within: 60) { accepted.value != nil })
    let pair = try #require(accepted.value)
    #expect(throws: StreamError.self) { try pair.startTLS(.trusting()) }
    let isWaited = onThread { _ = server.output.waitUntilReady(timeout: .seconds(60)) }
    let client = try SecureClient(securing: pair, .trusting(peerName: "localhost"), opening: true)
    #expect(client.failure == nil && isWaited.wait(seconds: 60))
    #expect(client.peer?.certificates.isEmpty == false)
    #expect(server.input.property(.tlsPeer)?.serverName == "localhost")
    _ = try writeAll(pattern(100), to: server.output)
    #expect(try read(100, from: pair.input) == pattern(100))
    server.output.close()
    #expect(try readToEnd(pair.input) == [])
    for pair in [server, pair] { pair.close() }
    listener.close()
    base.stop()
    base.join()
  }
}

#endif
