// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How secured connections end, properly and otherwise.
#if TLS

import Glibc
import SocketStreams
import SocketStreamsTLS
import Testing

@Suite("Ends of secured connections", .timeLimit(.minutes(5)))
struct EndingsTests {
  static let versions = ["1.2", "1.3"]
  static let transports: [ConnectionOptions.Transport] = [.direct, .bufferevent]

  private func over(_ transport: ConnectionOptions.Transport) -> ConnectionOptions {
    var options = ConnectionOptions()
    options.transport = transport
    return options
  }

  // Field report 50; rule 8 of the architecture
  @Test(
    "bytes and a proper end that come at once are all read, then the end", arguments: versions, transports)
  func burst(version: String, transport: ConnectionOptions.Transport) throws {
    let server = try PythonServer("burst", "localhost", chain: nil, "--count", "40000", "--max", version)
    for _ in 0..<(isSanitized ? 30 : 100) {
      let client = try SecureClient(port: server.port, options: over(transport))
      #expect(try readToEnd(client.pair.input) == pattern(40_000))
      #expect(client.pair.input.status == .atEnd)
    }
  }

  // Field report 50
  @Test("the same from our server, and with events", arguments: versions)
  func ownBurst(version: String) throws {
    let server = try SecureServer(
      .serving { $0.maximumVersion = version == "1.2" ? .tls12 : .tls13 }, .sends(pattern(40_000)))
    let base = try EventBase.startThread()
    for _ in 0..<(isSanitized ? 10 : 50) {
      let log = PairLog()
      let pair = StreamPair(host: "localhost", port: server.port)
      try pair.startTLS(.trusting())
      log.watch(pair, on: base)
      pair.open()
      try #require(log.hears(.endEncountered, .input, within: 30))
      #expect(log.bytes == pattern(40_000))
      #expect(log.events(.input).count { $0 == .endEncountered } == 1)
      #expect(log.events(.input).last == .endEncountered && log.events(.input).first == .openCompleted)
      pair.close()
    }
    let python = try PythonClient.start("listen", port: server.port)
    python.expect("end notice after 40000 same")
    base.stop()
    base.join()
  }

  // Field report 49
  @Test(
    "bytes that were decrypted already are read on without anything more arriving", arguments: versions,
    transports)
  func smallReads(version: String, transport: ConnectionOptions.Transport) throws {
    let server = try PythonServer("keep", "localhost", chain: nil, "--count", "20000", "--max", version)
    let base = try EventBase.startThread()
    let received = Shared<[UInt8]>([])
    let pair = StreamPair(host: "localhost", port: server.port, options: over(transport))
    pair.input.setProperty(.inputLimit, to: 16_384)
    try pair.startTLS(.trusting())
    pair.input.setClient(.all) { stream, event in
      guard event == .hasBytesAvailable, let piece = try? stream.read(upTo: 512) else { return }
      piece.withBytes { span in span.withUnsafeBytes { bytes in received.with { $0 += bytes } } }
    }
    pair.schedule(on: base)
    pair.open()
    #expect(eventually(within: 30) { received.value.count == 20_000 })
    #expect(received.value == pattern(20_000))
    pair.abort()
    // The same without a base.
    let client = try SecureClient(port: server.port, options: over(transport))
    var count = 0
    while count < 20_000, client.pair.input.waitUntilReady(timeout: .seconds(30)) {
      count += try client.pair.input.read(upTo: 512)?.count ?? 0
    }
    #expect(count == 20_000)
    base.stop()
    base.join()
  }

  // J15, S162; field report 52
  @Test(
    "closing says close_notify behind the last byte, and waits for nobody's", arguments: versions,
    transports)
  func notice(version: String, transport: ConnectionOptions.Transport) throws {
    // What it sends is not read, so that much of it is in the kernel still: a plain close would be a reset.
    let server = try PythonServer("stay", "localhost", chain: nil, "--count", "200000", "--max", version)
    let client = try SecureClient(port: server.port, options: over(transport))
    let descriptor = try #require(client.pair.input.property(.socketNativeHandle))
    let identity = try #require(SocketIdentity(descriptor))
    #expect(try writeAll(pattern(100_000), to: client.pair.output) == 100_000)
    client.pair.close()
    #expect(client.pair.output.status == .closed && client.pair.input.status == .closed)
    server.expect("got 100000 same end notice")
    server.expect("below: end")
    // The peer has not ended its side, and never will.
    #expect(eventually(within: 60) { !identity.isOpen })
  }

  // J15, S162
  @Test(
    "a connection that is dropped, or whose halves are closed one by one, says close_notify too",
    arguments: versions)
  func droppedNotice(version: String) throws {
    let server = try PythonServer("answer", "localhost", chain: nil, "--max", version)
    do {
      let client = try SecureClient(port: server.port)
      _ = try writeAll(pattern(10), to: client.pair.output)
    }
    server.expect("got 10 same end notice")
    let client = try SecureClient(port: server.port)
    client.pair.input.close()
    _ = try writeAll(pattern(20), to: client.pair.output)
    client.pair.output.close()
    server.expect("got 20 same end notice")
    // `abort` says nothing.
    let cut = try SecureClient(port: server.port)
    _ = try writeAll(pattern(30), to: cut.pair.output)
    #expect(try cut.pair.output.flush(timeout: .seconds(10)))
    // In TLS 1.3 a server may still have its part of the handshake to read; the reset would take that, too.
    try server.process.collect(seconds: 30) { text in
      text.split(separator: "\n").count { $0.hasPrefix("secured") } == 3
    }
    cut.pair.abort()
    #expect(cut.pair.input.status == .closed && cut.failure == nil)
    try server.process.collect(seconds: 30) { text in text.contains("end reset") || text.contains("end cut")
    }
  }

  // J15
  @Test("a client that writes and closes at once, reading nothing, loses nothing", arguments: versions)
  func writeAndClose(version: String) throws {
    let server = try PythonServer("answer", "localhost", chain: nil, "--max", version)
    let rounds = isSanitized ? 20 : 100
    for _ in 0..<rounds {
      let client = try SecureClient(port: server.port)
      #expect(try client.pair.output.write(pattern(1_000)) == 1_000)
      client.pair.close()
    }
    try server.process.collect(seconds: 60) { text in
      text.split(separator: "got 1000 same end notice", omittingEmptySubsequences: false).count > rounds
    }
  }

  // J15
  @Test("after closing its output a client reads the answer to the end", arguments: versions, transports)
  func halfClose(version: String, transport: ConnectionOptions.Transport) throws {
    let server = try PythonServer("answer", "localhost", chain: nil, "--count", "5000", "--max", version)
    let client = try SecureClient(port: server.port, options: over(transport))
    #expect(try writeAll(pattern(300_000), to: client.pair.output, seconds: 60) == 300_000)
    client.pair.output.close()
    server.expect("got 300000 same end notice")
    #expect(try readToEnd(client.pair.input) == pattern(5_000))
    #expect(client.pair.input.status == .atEnd)
  }

  // J15
  @Test("after the peer's end a client still writes", arguments: versions, transports)
  func otherHalfClose(version: String, transport: ConnectionOptions.Transport) throws {
    let server = try PythonServer("half", "localhost", chain: nil, "--count", "4", "--max", version)
    let client = try SecureClient(port: server.port, options: over(transport))
    #expect(try readToEnd(client.pair.input) == pattern(4))
    #expect(client.pair.output.status == .open)
    #expect(try writeAll(pattern(50_000), to: client.pair.output, seconds: 60) == 50_000)
    client.pair.output.close()
    server.expect("got 50000 same end notice")
  }

  // J2, J15
  @Test("our server answers a client that has ended its side", arguments: versions)
  func peerHalfClose(version: String) throws {
    let server = try SecureServer(.serving())
    let client = try PythonClient.start("half", port: server.port, "--count", "200000", "--max", version)
    client.expect("end notice after 200000")
    #expect(server.hasEnded())
    #expect(server.ends == [nil])
  }

  // G11
  @Test(
    "an end without close_notify is an error behind the last byte", arguments: versions, transports)
  func truncated(version: String, transport: ConnectionOptions.Transport) throws {
    let server = try PythonServer("cut", "localhost", chain: nil, "--count", "30000", "--max", version)
    let client = try SecureClient(port: server.port, options: over(transport))
    #expect(try read(30_000, from: client.pair.input) == pattern(30_000))
    let failure = client.readFailure()
    #expect(failure?.tls == .closedWithoutNotice)
    #expect(failure?.operation == "read")
    #expect(client.pair.input.status == .error)
  }

  // G11
  @Test("a client that ends without close_notify is an error of our server's", arguments: versions)
  func truncatedClient(version: String) throws {
    let server = try SecureServer(.serving())
    let client = try PythonClient.start("cut", port: server.port, "--max", version)
    client.expect("done")
    #expect(server.hasEnded())
    #expect(server.ends.last??.tls == .closedWithoutNotice)
  }

  // G11
  @Test("a server that is killed is no proper end", arguments: versions)
  func killed(version: String) throws {
    let server = try PythonServer("keep", "localhost", chain: nil, "--count", "1000", "--max", version)
    let client = try SecureClient(port: server.port)
    #expect(try read(1_000, from: client.pair.input) == pattern(1_000))
    server.process.kill()
    let failure = try #require(client.readFailure())
    let isReset = failure.domain == .posix && failure.code == ECONNRESET
    #expect(failure.tls == .closedWithoutNotice || isReset, "\(failure)")
  }

  // G10
  @Test("a reset is a reset, with TLS too", arguments: versions)
  func reset(version: String) throws {
    let server = try PythonServer("reset", "localhost", chain: nil, "--count", "100", "--max", version)
    let client = try SecureClient(port: server.port)
    #expect(try read(100, from: client.pair.input) == pattern(100))
    _ = try writeAll([1], to: client.pair.output)
    let failure = client.readFailure()
    #expect(failure?.domain == .posix && failure?.code == ECONNRESET, "\(String(describing: failure))")
  }

  // Field report 34
  @Test("a server that ends in order at once: opened, then the end, each once", arguments: versions)
  func endsAtOnce(version: String) throws {
    let server = try PythonServer("burst", "localhost", chain: nil, "--max", version)
    let base = try EventBase.startThread()
    for _ in 0..<(isSanitized ? 20 : 100) {
      let log = PairLog()
      let pair = StreamPair(host: "localhost", port: server.port)
      try pair.startTLS(.trusting())
      log.watch(pair, on: base)
      pair.open()
      try #require(log.hears(.endEncountered, .input, within: 30))
      #expect(log.events(.input) == [.openCompleted, .endEncountered])
      #expect(pair.output.error == nil)
      pair.close()
    }
    base.stop()
    base.join()
  }

  // Field report 34
  @Test("a server that accepts and closes at once: opened, then an error, each once and in this order")
  func closesAtOnce() throws {
    let server = try PythonServer("early")
    let base = try EventBase.startThread()
    for _ in 0..<(isSanitized ? 30 : 200) {
      let log = PairLog()
      let pair = StreamPair(host: "localhost", port: server.port)
      try pair.startTLS(.trusting())
      log.watch(pair, on: base)
      pair.open()
      try #require(
        log.hears(.errorOccurred, .input, within: 30) && log.hears(.errorOccurred, .output, within: 30))
      let expected: [[StreamEvent]] = [[.openCompleted, .errorOccurred], [.errorOccurred]]
      #expect(expected.contains(log.events(.input)), "\(log.events(.input))")
      #expect(expected.contains(log.events(.output)), "\(log.events(.output))")
      let failure = try #require(pair.input.error)
      #expect(failure == pair.output.error)
      #expect(
        failure.tls == .closedWithoutNotice
          || failure.domain == .posix && [ECONNRESET, EPIPE].contains(failure.code), "\(failure)")
    }
    base.stop()
    base.join()
  }
}

#endif
