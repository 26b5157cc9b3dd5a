// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Taking TLS off again, against Python's own, and between two pairs of ours.
#if TLS

import Glibc
import SocketStreams
import SocketStreamsTLS
import Testing

@Suite("Taking TLS off an open connection", .timeLimit(.minutes(3)))
struct StopTLSTests {
  static let versions = ["1.2", "1.3"]
  static let transports: [ConnectionOptions.Transport] = [.direct, .bufferevent]
  private static let answer = Array("200 plain\n".utf8)

  private func client(_ server: PythonServer, _ transport: ConnectionOptions.Transport) throws -> StreamPair {
    var options = ConnectionOptions()
    options.transport = transport
    let client = try SecureClient(port: server.port, options: options)
    try #require(client.failure == nil)
    return client.pair
  }

  /// A client that has asked a server for the end of TLS.
  private func asked(
    _ mode: String, _ version: String, _ transport: ConnectionOptions.Transport
  ) throws -> (PythonServer, StreamPair) {
    let server = try PythonServer(mode, "localhost", chain: nil, "--max", version)
    let pair = try client(server, transport)
    _ = try writeAll(Array("CCC\n".utf8), to: pair.output)
    return (server, pair)
  }

  private func expectPlain(_ pair: StreamPair, _ greeting: [UInt8], _ server: PythonServer) throws {
    #expect(try read(greeting.count, from: pair.input, seconds: 60) == greeting)
    #expect(pair.output.waitUntilReady(timeout: .seconds(60)) && pair.output.error == nil)
    #expect(pair.input.property(.tlsPeer) == nil && pair.input.property(.tlsSettings) == nil)
    #expect(try writeAll(pattern(100_000), to: pair.output, seconds: 60) == 100_000)
    #expect(try read(100_000, from: pair.input, seconds: 60) == pattern(100_000))
    pair.output.close()
    #expect(try readToEnd(pair.input, seconds: 60) == [])
    server.expect("sent back 100000 in plain")
    pair.close()
  }

  // J14
  @Test("with Python's unwrap, which ends first", arguments: versions, transports)
  func pythonFirst(version: String, transport: ConnectionOptions.Transport) throws {
    let (server, pair) = try asked("unwrap", version, transport)
    #expect(try read(10, from: pair.input, seconds: 60) == Self.answer)
    try pair.stopTLS()
    try expectPlain(pair, Array("hello\n".utf8), server)
  }

  // J14
  @Test("with Python's unwrap, which ends second; its answer comes secured", arguments: versions, transports)
  func pythonSecond(version: String, transport: ConnectionOptions.Transport) throws {
    let (server, pair) = try asked("unwrap", version, transport)
    try pair.stopTLS()
    #expect(try pair.output.write([1]) == nil)
    #expect(try read(10, from: pair.input, seconds: 60) == Self.answer)
    try expectPlain(pair, Array("hello\n".utf8), server)
  }

  // J14
  @Test(
    "an answer, the end of TLS and plain bytes that come in one piece are told apart",
    arguments: versions, transports)
  func together(version: String, transport: ConnectionOptions.Transport) throws {
    let server = try PythonServer("together", "localhost", chain: nil, "--max", version)
    for stopsEarly in [false, true] {
      let pair = try client(server, transport)
      _ = try writeAll(Array("CCC\n".utf8), to: pair.output)
      if stopsEarly { try pair.stopTLS() }
      #expect(try read(10, from: pair.input, seconds: 60) == Self.answer)
      if !stopsEarly { try pair.stopTLS() }
      try expectPlain(pair, [0x17, 3, 3, 0, 5] + Array("hello\n".utf8), server)
    }
  }

  // J14
  @Test("on a base, with events, by a reader and a writer of frames", arguments: versions, transports)
  func frames(version: String, transport: ConnectionOptions.Transport) throws {
    let server = try PythonServer("together", "localhost", chain: nil, "--max", version)
    let base = try EventBase.startThread()
    for _ in 0..<10 {
      let pair = try client(server, transport)
      let lines = Shared<[[UInt8]]>([])
      let writer = FramedWriter(pair.output, on: base)
      let reader = FramedReader(pair.input, on: base) { reader, event in
        guard case .frame(let line, _) = event else { return }
        lines.with { $0.append(line) }
        if lines.value.count == 1 {
          try? pair.stopTLS()
          writer.write(Array("one\n".utf8))
          writer.write(Array("two\n".utf8))
        }
        reader.read(.line())
      }
      writer.write(Array("CCC\n".utf8))
      reader.read(.line())
      let expected = ["200 plain", "\u{17}\u{3}\u{3}\0\u{5}hello", "one", "two"].map { Array($0.utf8) }
      #expect(eventually(within: 60) { lines.value.count == 4 })
      #expect(lines.value == expected && pair.input.property(.tlsPeer) == nil)
      pair.close()
    }
    base.stop()
    base.join()
  }

  // J14
  @Test("Python's client takes it off a server of ours", arguments: versions)
  func server(version: String) throws {
    let server = try SecureServer(
      .serving { $0.maximumVersion = version == "1.2" ? .tls12 : .tls13 }, .none)
    let python = try PythonClient.start("unwrap", port: server.port)
    try #require(eventually(within: 60) { server.pairs.first?.input.status == .open })
    let pair = try #require(server.pairs.first)
    #expect(try read(4, from: pair.input, seconds: 60) == Array("CCC\n".utf8))
    // On its base, which so cannot meet the client's close_notify between the two.
    try server.base.sync {
      _ = try pair.output.write(Self.answer)
      try pair.stopTLS()
    }
    #expect(try read(1_000, from: pair.input, seconds: 60) == pattern(1_000))
    #expect(try writeAll(pattern(1_000), to: pair.output, seconds: 60) == 1_000)
    python.expect("plain same")
    python.expect("done")
    pair.close()
  }

  // J14
  @Test("two pairs of ours take it off at once, and secure the connection anew", arguments: transports)
  func ours(transport: ConnectionOptions.Transport) throws {
    let server = try SecureServer(.serving(), .none)
    var options = ConnectionOptions()
    options.transport = transport
    let near = try SecureClient(port: server.port, options: options).pair
    try #require(eventually(within: 60) { server.pairs.first?.input.status == .open })
    let far = try #require(server.pairs.first)
    #expect(far.output.waitUntilReady(timeout: .seconds(60)))
    for round in 0..<4 {
      // On no base nobody meets the other's close_notify too early.
      far.unschedule(from: server.base)
      #expect(try writeAll(pattern(50_000), to: near.output, seconds: 60) == 50_000)
      for pair in round % 2 == 0 ? [near, far] : [far, near] {
        try pair.stopTLS()
        // Behind the other's close_notify at once.
        try pair.output.write(moving: StreamBuffer(Array((pair.input === near.input ? "near" : "far").utf8)))
      }
      #expect(try read(50_000, from: far.input, seconds: 60) == pattern(50_000))
      #expect(try read(4, from: far.input, seconds: 60) == Array("near".utf8))
      #expect(try read(3, from: near.input, seconds: 60) == Array("far".utf8))
      #expect(near.input.property(.tlsPeer) == nil && far.input.property(.tlsPeer) == nil)
      try far.startTLS(.serving())
      far.schedule(on: server.base)
      #expect(try SecureClient(securing: near, .trusting()).peer != nil)
      #expect(far.output.waitUntilReady(timeout: .seconds(60)))
    }
    #expect(try writeAll(pattern(1_000), to: far.output, seconds: 60) == 1_000)
    #expect(try read(1_000, from: near.input, seconds: 60) == pattern(1_000))
    near.close()
  }

  // J14, J15
  @Test("a peer that never ends TLS is given up by the limit of closing", arguments: versions, transports)
  func silence(version: String, transport: ConnectionOptions.Transport) throws {
    let (server, pair) = try asked("silence", version, transport)
    pair.output.setProperty(.lingerTimeout, to: .milliseconds(100))
    #expect(try read(10, from: pair.input, seconds: 60) == Self.answer)
    try pair.stopTLS()
    #expect(pair.output.waitUntilReady(timeout: .seconds(60)))
    #expect(pair.output.error == .posix(ETIMEDOUT, "stop TLS") && pair.input.error == pair.output.error)
    pair.close()
    withExtendedLifetime(server) {}
  }

  // J14, G11
  @Test("a peer that ends the connection instead has cut it", arguments: versions, transports)
  func leave(version: String, transport: ConnectionOptions.Transport) throws {
    let (server, pair) = try asked("leave", version, transport)
    try pair.stopTLS()
    #expect(try read(10, from: pair.input, seconds: 60) == Self.answer)
    #expect(throws: StreamError.self) { try readToEnd(pair.input, seconds: 60) }
    #expect(pair.input.error?.tls == .closedWithoutNotice && pair.output.error == pair.input.error)
    pair.close()
    withExtendedLifetime(server) {}
  }

  // J14
  @Test("a peer that ends TLS unasked has ended the stream, as ever")
  func unasked() throws {
    let server = try PythonServer("half", "localhost", chain: nil, "--text", "bye\n")
    let pair = try client(server, .direct)
    #expect(try readToEnd(pair.input, seconds: 60) == Array("bye\n".utf8))
    #expect(throws: StreamError.misuse(.notOpen, "stop TLS")) { try pair.stopTLS() }
    #expect(try pair.output.write([1]) == 1)
    pair.close()
    #expect(throws: StreamError.misuse(.notOpen, "stop TLS")) { try pair.stopTLS() }
  }

  // J14
  @Test("what is not secured cannot be taken off")
  func refused() throws {
    let link = try TCPLink()
    let pair = link.pair
    let error = StreamError.misuse(.notSecured, "stop TLS")
    #expect(throws: error) { try pair.stopTLS() }
    #expect(error.description.contains("the stream is not secured"))
    try pair.startTLS(.client(peerName: "localhost"))
    #expect(throws: error) { try pair.stopTLS() }
    pair.abort()
  }
}

#endif
