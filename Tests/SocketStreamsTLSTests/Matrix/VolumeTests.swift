// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Much of everything: bytes, and handshakes.
#if TLS

import Glibc
import SocketStreams
import SocketStreamsTLS
import Testing

@Suite("Much over TLS", .serialized, .timeLimit(.minutes(10)))
struct VolumeTests {
  private static let amount = isSanitized ? 20_000_000 : 100_000_000
  /// Whether the process has more memory than a stream's buffers explain. Sanitizers keep what was freed, and tell nothing.
  private static func hasGrown(since before: Int) -> Bool {
    !isSanitized && residentBytes() - before > 16_000_000
  }
  static let transports: [ConnectionOptions.Transport] = [.direct, .bufferevent]

  /// Bytes of `pattern`, from an offset on.
  private static let table = pattern(65_536) + pattern(65_536)
  private static func bytes(at offset: Int, _ count: Int) -> ArraySlice<UInt8> {
    table[offset % 65_536..<offset % 65_536 + count]
  }

  private static func isRight(_ memory: UnsafeRawBufferPointer, at offset: Int) -> Bool {
    bytes(at: offset, memory.count).withUnsafeBytes { expected in
      memcmp(expected.baseAddress!, memory.baseAddress!, memory.count) == 0
    }
  }

  private func over(_ transport: ConnectionOptions.Transport) -> ConnectionOptions {
    var options = ConnectionOptions()
    options.transport = transport
    return options
  }

  // F1, J1
  @Test(
    "what is sent to a slow reader waits outside of this process, and arrives whole", arguments: transports)
  func sending(transport: ConnectionOptions.Transport) throws {
    let server = try PythonServer("slow", "localhost", chain: nil, "--small")
    let client = try SecureClient(port: server.port, options: over(transport))
    let before = residentBytes()
    // Nothing is read, so there is an end to what is taken.
    var sent = 0
    while client.pair.output.waitUntilReady(timeout: .milliseconds(500)) {
      sent += try client.pair.output.write(Array(Self.bytes(at: sent, 65_536))) ?? 0
      try #require(sent < Self.amount, "everything is taken, though nobody reads")
    }
    #expect(try client.pair.output.write([0]) == nil)
    server.release()
    while sent < Self.amount {
      let count = min(65_536, Self.amount - sent)
      if let taken = try client.pair.output.write(Array(Self.bytes(at: sent, count))) {
        sent += taken
      } else {
        try #require(client.pair.output.waitUntilReady(timeout: .seconds(60)))
      }
    }
    #expect(!Self.hasGrown(since: before))
    client.pair.output.close()
    server.expect("got \(Self.amount) same end notice")
    #expect(try readToEnd(client.pair.input) == [])
  }

  // F1, J1; rule 4 of the architecture
  @Test(
    "what a slow reader does not read waits outside of this process, and is read whole",
    arguments: transports)
  func receiving(transport: ConnectionOptions.Transport) throws {
    let server = try PythonServer("flood", "localhost", chain: nil, "--count", String(Self.amount))
    let base = try EventBase.startThread()
    let received = Shared(0)
    let isRight = Shared(true)
    let isReading = Shared(false)
    let announced = Shared(0)
    let finished = Gate()
    let pair = StreamPair(host: "localhost", port: server.port, options: over(transport))
    try pair.startTLS(.trusting())
    pair.input.setClient(.all) { stream, event in
      if event == .endEncountered { finished.open() }
      guard event == .hasBytesAvailable else { return }
      announced.with { $0 += 1 }
      guard isReading.value else { return }
      stream.withAvailableBytes { bytes in
        let offset = received.value
        let count = min(bytes.byteCount, 40_000)
        bytes.withUnsafeBytes { memory in
          let part = UnsafeRawBufferPointer(rebasing: memory[..<count])
          if !Self.isRight(part, at: offset) { isRight.with { $0 = false } }
        }
        received.with { $0 += count }
        return count
      }
    }
    let before = residentBytes()
    pair.schedule(on: base)
    pair.open()
    try #require(eventually(within: 60) { announced.value > 0 })
    // The peer sends as much as anybody takes meanwhile, which is little.
    #expect(
      !eventually(within: 1) {
        server.process.printed.contains("flooded") || Self.hasGrown(since: before)
      })
    #expect(announced.value == 1)
    isReading.with { $0 = true }
    base.execute {
      // Not reading when told, a client asks for itself.
      pair.input.withAvailableBytes { bytes in
        received.with { $0 += 1 }
        return 1
      }
    }
    #expect(finished.wait(seconds: 240))
    #expect(received.value == Self.amount && isRight.value)
    #expect(!Self.hasGrown(since: before))
    pair.close()
    base.stop()
    base.join()
  }

  // J1, J2
  @Test("much goes both ways at once, byte for byte", arguments: TLSVersion.both)
  func bothWays(version: TLSVersion) throws {
    let server = try SecureServer(.serving { $0.maximumVersion = version })
    let client = try SecureClient(port: server.port)
    let amount = Self.amount / 4
    let pair = client.pair
    let done = onThread {
      var sent = 0
      while sent < amount {
        let count = min(50_000, amount - sent)
        if let taken = (try? pair.output.write(Array(Self.bytes(at: sent, count)))) ?? nil {
          sent += taken
        } else if !pair.output.waitUntilReady(timeout: .seconds(60)) || pair.output.status == .error {
          return
        }
      }
      pair.output.close()
    }
    var (count, isRight) = (0, true)
    while pair.input.waitUntilReady(timeout: .seconds(60)) {
      guard let piece = try pair.input.read(upTo: 30_000) else { continue }
      if piece.count == 0 { break }
      piece.withBytes { bytes in
        bytes.withUnsafeBytes { memory in
          isRight = isRight && Self.isRight(memory, at: count)
        }
      }
      count += piece.count
    }
    #expect(done.wait(seconds: 60))
    #expect(count == amount && isRight)
  }

  // J1, J2, J16
  @Test("ten thousand handshakes leave no descriptor and no memory behind", arguments: [false, true])
  func handshakes(resumes: Bool) throws {
    let rounds = isSanitized ? 300 : 5_000
    let server = try SecureServer(.serving { $0.resumesSessions = resumes })
    let settings = try TLSSettings.trusting { $0.resumesSessions = resumes }
    var resumed = 0
    func connect(_ count: Int) throws {
      for number in 0..<count {
        let client = try SecureClient(port: server.port, settings)
        try #require(client.failure == nil, "\(number): \(client.failure as Any)")
        try #require(try client.echo(100))
        if client.peer?.isResumed == true { resumed += 1 }
        try #require(try client.finish())
      }
    }
    try connect(rounds / 10)
    #expect(eventually(within: 60) { server.pairs.isEmpty })
    let (sockets, before) = (settledSocketCount(), residentBytes())
    try connect(rounds)
    #expect(eventually(within: 60) { server.pairs.isEmpty })
    #expect(settledSocketCount() <= sockets)
    // Less than a kilobyte each.
    #expect(residentBytes() - before < (isSanitized ? 64_000_000 : rounds * 1_000))
    #expect(resumes ? resumed > rounds / 2 : resumed == 0)
  }

  // J1
  @Test("handshakes that fail leave no descriptor and no memory behind")
  func failures() throws {
    let rounds = isSanitized ? 100 : 1_000
    let server = try SecureServer(.serving("other.test"))
    func connect(_ count: Int) throws {
      for _ in 0..<count { #expect(try SecureClient(port: server.port).failure?.tls == .wrongHost) }
    }
    try connect(100)
    #expect(eventually(within: 60) { server.pairs.isEmpty })
    let (sockets, before) = (settledSocketCount(), residentBytes())
    try connect(rounds)
    #expect(eventually(within: 60) { server.pairs.isEmpty })
    #expect(settledSocketCount() <= sockets)
    #expect(residentBytes() - before < (isSanitized ? 64_000_000 : rounds * 2_000))
  }
}

extension TLSVersion {
  /// Those that are spoken by default.
  static let both: [TLSVersion] = [.tls12, .tls13]
}

#endif
