// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What happens while a handshake is under way, and when it never ends.
#if TLS

import Glibc
import SocketStreams
import SocketStreamsTLS
import Testing

@Suite("During the handshake", .timeLimit(.minutes(3)))
struct HandshakeTests {
  // H5; field report 53
  @Test("a server that never answers is given up after the limit, and the descriptor is closed")
  func silentServer() throws {
    let server = try PythonServer("silent")
    let base = try EventBase.startThread()
    let log = PairLog()
    let pair = StreamPair(host: "localhost", port: server.port)
    try pair.startTLS(.trusting { $0.handshakeTimeout = .milliseconds(500) })
    log.watch(pair, on: base)
    let begin = monotonicSeconds()
    pair.open()
    try #require(log.hears(.openCompleted, .input, within: 30))
    let identity = try #require(pair.input.property(.socketNativeHandle).flatMap { SocketIdentity($0) })
    #expect(log.hears(.errorOccurred, .input, within: 30) && log.hears(.errorOccurred, .output, within: 30))
    // libevent's clock is coarse.
    #expect(monotonicSeconds() - begin > 0.45)
    #expect(pair.input.error == .posix(ETIMEDOUT, "TLS handshake"))
    #expect(pair.output.error == pair.input.error)
    #expect(log.events(.input) == [.openCompleted, .errorOccurred])
    #expect(log.events(.output) == [.openCompleted, .errorOccurred])
    pair.close()
    #expect(eventually { !identity.isOpen })
    base.stop()
    base.join()
  }

  // H5; field report 53
  @Test("the limit counts without a base too")
  func silentServerBlocking() throws {
    let server = try PythonServer("silent")
    let client = try SecureClient(port: server.port, .trusting { $0.handshakeTimeout = .milliseconds(300) })
    #expect(client.failure == .posix(ETIMEDOUT, "TLS handshake"))
  }

  // H5; field report 53
  @Test("a client that sends nothing is given up after the limit, and the descriptor is closed")
  func silentClient() throws {
    let server = try SecureServer(.serving { $0.handshakeTimeout = .milliseconds(500) })
    let client = try #require(RawSocket(connectingTo: server.port))
    #expect(server.hasEnded())
    #expect(server.ends == [.posix(ETIMEDOUT, "TLS handshake")])
    expectEnd(client)
  }

  // J1
  @Test("a server that does not speak TLS is a protocol error", arguments: ["http", "garbage"])
  func plainServer(mode: String) throws {
    let server = try PythonServer(mode)
    let client = try SecureClient(port: server.port)
    #expect(client.failure?.tls == .protocolError, "\(String(describing: client.failure))")
    #expect(client.failure?.operation == "TLS handshake")
    #expect(client.pair.input.error == client.failure)
  }

  // J2
  @Test("a client that does not speak TLS is a protocol error", arguments: [true, false])
  func plainClient(speaksHTTP: Bool) throws {
    let server = try SecureServer(.serving())
    let client = try #require(RawSocket(connectingTo: server.port))
    let said = speaksHTTP ? Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8) : pattern(300)
    #expect(client.send(said) == 0)
    #expect(server.hasEnded())
    #expect(server.ends.last??.tls == .protocolError, "\(server.ends)")
    // An alert at most.
    #expect(client.receive(100, seconds: 30).count < 100)
    expectEnd(client)
  }

  /// Expects that the other side's descriptor is closed.
  private func expectEnd(_ client: RawSocket) {
    let code = client.receiveEnd(seconds: 30)
    #expect(code == 0 || code == ECONNRESET, "\(String(describing: code))")
  }

  // S55, S150
  @Test("opened means connected; bytes go and come when the handshake is done, and none before")
  func heldUp() throws {
    let server = try PythonServer("echo")
    let relay = try HeldRelay(to: server.port)
    let base = try EventBase.startThread()
    let log = PairLog()
    let pair = StreamPair(host: "localhost", port: relay.port)
    try pair.startTLS(.trusting())
    log.watch(pair, on: base)
    pair.open()
    #expect(log.hears(.openCompleted, .input, within: 30) && log.hears(.openCompleted, .output, within: 30))
    #expect(relay.hasClient())
    pass(base)
    #expect(pair.input.status == .open && pair.output.status == .open)
    #expect(!pair.output.canAcceptBytes && !pair.input.hasBytesAvailable)
    #expect(try pair.output.write(pattern(10)) == nil)
    #expect(try pair.input.read(upTo: 10) == nil)
    #expect(pair.output.property(.bytesWritten) == 0)
    #expect(pair.input.property(.tlsPeer) == nil)
    #expect(log.events(.input) == [.openCompleted] && log.events(.output) == [.openCompleted])
    relay.release()
    #expect(log.hears(.canAcceptBytes, .output, within: 30))
    #expect(pair.input.property(.tlsPeer) != nil)
    let secret = Array("nobody is to read this".utf8)
    #expect(try pair.output.write(secret) == secret.count)
    #expect(eventually(within: 30) { log.bytes == secret })
    #expect(!relay.sent.isEmpty && !contains(relay.sent, secret))
    pair.output.close()
    #expect(log.hears(.endEncountered, .input, within: 30))
    #expect(log.events(.output).starts(with: [.openCompleted, .canAcceptBytes]))
    #expect(log.events(.input).first == .openCompleted && log.events(.input).last == .endEncountered)
    base.stop()
    base.join()
  }

  enum Way: CaseIterable { case close, closeOutput, closeInput, drop, abort }

  // J1
  @Test(
    "closing during the handshake ends the connection without an event, and leaves nothing",
    arguments: Way.allCases)
  func closing(way: Way) throws {
    let server = try PythonServer("silent")
    let base = try EventBase.startThread()
    let log = PairLog()
    var pair: StreamPair? = StreamPair(host: "localhost", port: server.port)
    try pair?.startTLS(.trusting())
    if let pair { log.watch(pair, on: base) }
    pair?.open()
    try #require(
      log.hears(.openCompleted, .input, within: 30) && log.hears(.openCompleted, .output, within: 30))
    let identity = try #require(pair?.input.property(.socketNativeHandle).flatMap { SocketIdentity($0) })
    switch way {
    case .close: pair?.close()
    case .closeOutput:
      pair?.output.close()
      pair?.input.close()
    case .closeInput:
      pair?.input.close()
      pair?.output.close()
    case .drop:
      pair?.unschedule(from: base)
      pair = nil
    case .abort: pair?.abort()
    }
    #expect(eventually(within: 60) { !identity.isOpen })
    pass(base)
    #expect(log.events(.input) == [.openCompleted] && log.events(.output) == [.openCompleted])
    base.stop()
    base.join()
  }

  // J1
  @Test("a half that is closed during the handshake does not keep the other from it")
  func oneHalf() throws {
    let server = try PythonServer("answer", "localhost", chain: nil, "--count", "65")
    let relay = try HeldRelay(to: server.port)
    let pair = StreamPair(host: "localhost", port: relay.port)
    try pair.startTLS(.trusting())
    pair.open()
    #expect(relay.hasClient() && eventually { pair.output.status == .open })
    pair.output.close()
    relay.release()
    #expect(try readToEnd(pair.input, seconds: 60) == pattern(65))
    server.expect("got 0 same end notice")
  }

  private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    guard bytes.count >= part.count else { return false }
    return (0...bytes.count - part.count).contains { bytes[$0..<$0 + part.count].elementsEqual(part) }
  }
}

#endif
