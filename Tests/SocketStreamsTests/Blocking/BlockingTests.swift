// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Streams without a loop", .timeLimit(.minutes(2)))
struct BlockingTests {
  private func pair(to listener: RawListener) -> StreamPair {
    StreamPair(host: "127.0.0.1", port: listener.port)
  }

  /// Reads to the end in blocking calls.
  private func readAll(_ stream: ReadStream) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 10_000)
    while stream.waitUntilReady(timeout: .seconds(20)) {
      let count = try buffer.withUnsafeMutableBytes { try stream.read(into: $0) }
      if count == 0 { return bytes }
      bytes += buffer.prefix(count ?? 0)
    }
    return bytes
  }

  // S43, S44, D14.
  @Test("a stream that is scheduled nowhere gets to open, or to an error, while its status is polled")
  func polling() throws {
    let listener = try RawListener()
    let reachable = pair(to: listener)
    #expect(reachable.open())
    #expect(eventually { reachable.input.status == .open && reachable.output.status == .open })

    let refused = try RefusedPort()
    let unreachable = StreamPair(host: "127.0.0.1", port: refused.port)
    // The second half may be opened after the first has failed.
    #expect(unreachable.input.open())
    unreachable.output.open()
    #expect(eventually { unreachable.input.status == .error && unreachable.output.status == .error })
    #expect(unreachable.input.error?.code == ECONNREFUSED)
    #expect(unreachable.input.error == unreachable.output.error)
  }

  // S46, S49, S123, D15.
  @Test("a wait during opening goes on to the bytes, and calls no client")
  func whileOpening() throws {
    let listener = try RawListener()
    let pair = pair(to: listener)
    let idle = try EventBase()
    let calls = Shared(0)
    pair.input.setClient(.all) { _, _ in calls.with { $0 += 1 } }
    pair.output.setClient(.all) { _, _ in calls.with { $0 += 1 } }
    pair.schedule(on: idle)
    pair.open()
    let server = onThread {
      guard let peer = listener.accept() else { return }
      _ = peer.receive(5)
      peer.send(Array("answer".utf8))
    }
    #expect(pair.output.waitUntilReady(timeout: .seconds(20)))
    #expect(try pair.output.write(Array("hello".utf8)) == 5)
    #expect(try readAll(pair.input) == Array("answer".utf8))
    #expect(server.wait(seconds: 20))
    #expect(calls.value == 0)
    pair.close()
  }

  // S46, S47, S165, D15.
  @Test("a refused port ends every wait, and the calls behind it throw the failure")
  func refused() throws {
    let port = try RefusedPort()
    let pair = StreamPair(host: "127.0.0.1", port: port.port)
    pair.open()
    #expect(pair.input.waitUntilReady())
    #expect(pair.output.waitUntilReady())
    #expect(throws: StreamError.self) { try pair.output.flush() }
    #expect(throws: StreamError.self) { try pair.output.write([1]) }
    let error = #expect(throws: StreamError.self) { _ = try pair.input.read(upTo: 1) }
    #expect(error?.domain == .posix && error?.code == ECONNREFUSED)
  }

  // S46, S52.
  @Test("a connect timeout ends a wait")
  func connectTimeout() throws {
    let hole = try BlackHole()
    let pair = StreamPair(host: "127.0.0.1", port: hole.port)
    #expect(pair.input.setProperty(.connectTimeout, to: .milliseconds(50)))
    pair.open()
    #expect(!pair.input.waitUntilReady(timeout: .milliseconds(1)))
    #expect(pair.input.status == .opening)
    #expect(pair.input.waitUntilReady())
    #expect(pair.input.error?.code == ETIMEDOUT)
  }

  // S123, S134.
  @Test("a timeout ends a wait, not early, and leaves the stream as it was", arguments: Carrier.allCases)
  func timeout(carrier: Carrier) throws {
    let link = try carrier.connect()
    #expect(link.near.input.waitUntilReady(timeout: .zero) == false)
    let begin = monotonicSeconds()
    #expect(!link.near.input.waitUntilReady(timeout: .milliseconds(40)))
    #expect(monotonicSeconds() - begin >= 0.04)
    #expect(link.near.input.status == .open)
    if carrier != .bound { link.far.open() }
    try link.far.output.write([7])
    #expect(link.near.input.waitUntilReady(timeout: .seconds(20)))
    #expect(link.near.input.hasBytesAvailable)
    #expect(try link.near.input.read(upTo: 10)?.withBytes { $0.byteCount } == 1)
  }

  // S123, S137, S139, D15.
  @Test("two threads move bytes in blocking calls, exactly", arguments: Carrier.allCases)
  func exact(carrier: Carrier) throws {
    let link = try carrier.connect()
    if carrier != .bound { link.far.open() }
    let total = 2_000_000
    let writer = onThread { [output = link.near.output] in
      var sent = 0
      while sent < total, output.waitUntilReady(timeout: .seconds(20)) {
        let piece = Pattern.bytes(at: sent, min(50_000, total - sent))
        guard let taken = try? output.write(Array(piece)) else { continue }
        sent += taken
      }
      output.close()
    }
    let bytes = try readAll(link.far.input)
    #expect(bytes.count == total)
    #expect(
      stride(from: 0, to: bytes.count, by: 50_000).allSatisfy { start in
        Pattern.matches(bytes[start..<min(start + 50_000, bytes.count)], at: start)
      })
    #expect(link.far.input.status == .atEnd)
    #expect(writer.wait(seconds: 20))
  }

  enum Ending: CaseIterable { case close, abort, peerClosed, peerReset }

  // S96, D14; field report 11.
  @Test(
    "whatever ends a connection ends the waits of other threads", arguments: Ending.allCases, [false, true])
  func ends(ending: Ending, fills: Bool) throws {
    let listener = try RawListener()
    let pair = pair(to: listener)
    pair.open()
    let peer = try #require(listener.accept())
    #expect(pair.output.waitUntilReady(timeout: .seconds(20)))
    if fills {
      while try pair.output.write([UInt8](repeating: 1, count: 60_000)) != nil {}
      #expect(!pair.output.waitUntilReady(timeout: .milliseconds(1)))
    }
    let began = Signal()
    let waits = [
      onThread {
        began.raise()
        _ = pair.input.waitUntilReady()
      },
      onThread {
        began.raise()
        if fills { _ = pair.output.waitUntilReady() }
      },
      onThread {
        began.raise()
        _ = try? pair.output.flush()
      },
    ]
    #expect(began.wait(3, seconds: 20))
    switch ending {
    case .close: pair.close()
    case .abort: pair.abort()
    case .peerClosed where fills:
      // Its unread input makes the kernel send a reset.
      peer.close()
    case .peerClosed: peer.close()
    case .peerReset: peer.reset()
    }
    for wait in waits { #expect(wait.wait(seconds: 20)) }
    pair.close()
  }

  // S96, S153: the descriptor is not closed, and its number not given to another file, while a thread polls it.
  @Test("a close of both halves during a wait closes the descriptor once the wait has ended")
  func descriptorOutlivesWait() throws {
    for _ in 0..<200 {
      let (pair, peer) = try StreamPair.connected()
      pair.open()
      peer.open()
      let began = Signal()
      let wait = onThread {
        began.raise()
        _ = pair.input.waitUntilReady()
      }
      #expect(began.wait(seconds: 20))
      pair.close()
      #expect(wait.wait(seconds: 20))
      // The peer sees the end only if the descriptor was closed or shut down, and EOF of reading ours by its close.
      #expect(peer.input.waitUntilReady(timeout: .seconds(20)))
      #expect(try peer.input.read(upTo: 1)?.withBytes { $0.byteCount } == 0)
      peer.close()
    }
  }

  // S148, D14.
  @Test("what the kernel did not take is sent without any base", arguments: [true, false])
  func backlog(flushes: Bool) throws {
    let listener = try RawListener()
    let pair = pair(to: listener)
    pair.open()
    let peer = try #require(listener.accept())
    #expect(pair.output.waitUntilReady(timeout: .seconds(20)))
    // More than the kernel takes for a peer that does not read, however large its buffers have become.
    let bytes = (0..<12_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    try pair.output.write(moving: StreamBuffer(bytes))
    #expect(try !pair.output.flush(timeout: .milliseconds(1)))
    let received = Shared<[UInt8]?>(nil)
    let reader = onThread {
      let all = peer.receiveAll()
      received.with { $0 = all }
    }
    if flushes {
      #expect(try pair.output.flush(timeout: .seconds(20)))
      #expect(pair.output.property(.queuedByteCount) == 0)
    }
    pair.close()
    #expect(reader.wait(seconds: 20))
    #expect(received.value == bytes)
  }

  // S139, S158: a lent socket takes what the kernel takes.
  @Test("a wait for room on a lent socket ends when the kernel has room")
  func lentSocket() throws {
    var fds: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &fds) == 0)
    let (lent, peer) = (RawSocket(owning: fds[0]), RawSocket(owning: fds[1]))
    let pair = StreamPair(nativeSocket: lent.fd)
    pair.open()
    var sent = 0
    while let taken = try pair.output.write([UInt8](repeating: 5, count: 10_000)) { sent += taken }
    #expect(!pair.output.waitUntilReady(timeout: .milliseconds(1)))
    let reader = onThread { [sent] in _ = peer.receive(sent) }
    #expect(pair.output.waitUntilReady(timeout: .seconds(20)))
    #expect(try pair.output.write([5]) == 1)
    #expect(reader.wait(seconds: 20))
    pair.close()
  }

  // S29, S123: what cannot change is not waited for.
  @Test("a stream that is not open, has ended or has failed is not waited for")
  func nothingToWaitFor() throws {
    let pair = StreamPair.bound()
    #expect(pair.input.waitUntilReady() && pair.output.waitUntilReady())
    pair.open()
    pair.output.close()
    #expect(pair.input.waitUntilReady())
    #expect(try pair.input.read(upTo: 1)?.withBytes { $0.byteCount } == 0)
    #expect(pair.input.waitUntilReady() && pair.output.waitUntilReady())
    #expect(try pair.output.flush())
    pair.close()
    #expect(pair.input.waitUntilReady() && pair.output.waitUntilReady())
  }
}
