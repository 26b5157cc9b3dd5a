// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Flow on real sockets", .timeLimit(.minutes(2)))
struct FlowTests {
  // MARK: - In

  // S110, S100, L1
  @Test("an unscheduled stream stays connected: the peer fills the kernel and stops, and nothing is lost")
  func unscheduled() throws {
    let link = try TCPLink.narrow()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base)
    #expect(log.hears(.canAcceptBytes, .output))
    link.pair.unschedule(from: base)
    pass(base)
    let heard = log.all
    let sent = fill(link.peer)
    #expect(sent > 0 && sent < 16_000_000)
    pass(base)
    #expect(log.all == heard && log.bytes.isEmpty)
    #expect(link.pair.input.status == .open)
    #expect(link.pair.input.hasBytesAvailable)
    link.pair.schedule(on: base)
    link.peer.shutdownWrite()
    #expect(log.hears(.endEncountered, .input, within: 10))
    #expect(log.bytes.count == sent)
  }

  // S119, S111
  @Test("streams of a base that ended can be polled, and scheduled elsewhere", arguments: [true, false])
  func baseEnds(polled: Bool) throws {
    let link = try TCPLink()
    let first = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: first)
    #expect(log.hears(.canAcceptBytes, .output))
    first.stop()
    first.join()
    link.peer.send([1, 2])
    #expect(link.pair.input.status == .open && link.pair.output.status == .open)
    if polled {
      #expect(try read(2, from: link.pair.input) == [1, 2])
      #expect(try link.pair.output.write([3]) == 1)
      #expect(link.peer.receive(1) == [3])
      #expect(log.bytes.isEmpty)
    }
    let second = try EventBase.startThread()
    link.pair.schedule(on: second)
    if !polled { #expect(eventually(within: 5) { log.bytes == [1, 2] }) }
    link.peer.shutdownWrite()
    #expect(log.hears(.endEncountered, .input))
    #expect(log.events(.input).filter { $0 == .openCompleted }.count == 1)
  }

  // S119, S148
  @Test("what a stream had queued is sent although its base ends")
  func baseEndsWithQueue() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    link.pair.schedule(on: base)
    let bytes = pattern(6_000_000)
    try link.pair.output.write(moving: StreamBuffer(bytes))
    base.stop()
    base.join()
    link.pair.output.close()
    #expect(link.peer.receiveAll() == bytes)
  }

  // S135, L1, report 47
  @Test("a client that does not read costs no processor time and no memory, and the sender is stopped")
  func clientThatDoesNotRead() async {
    await #expect(processExitsWith: .success) {
      for events in [StreamEvents.all, [.endEncountered, .errorOccurred]] {
        let link = try TCPLink()
        let base = try EventBase.startThread()
        let log = PairLog()
        log.watch(link.pair.input, on: base, reading: false, events: events)
        pass(base)
        _ = fill(link.peer, patience: 0.01)
        let before = residentBytes()
        let sent = fill(link.peer)
        #expect(sent < 64_000_000)
        #expect(residentBytes() - before < 2_000_000)
        // 0.3 s during which bytes wait and nobody takes them.
        #expect(loopTime(of: base, over: 0.3) < 0.05)
        #expect(log.events(.input).filter { $0 == .hasBytesAvailable }.count == (events == .all ? 1 : 0))
        link.pair.abort()
      }
    }
  }

  // S87, report 8
  @Test("a client that does not write costs no processor time")
  func clientThatDoesNotWrite() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base)
    #expect(log.hears(.canAcceptBytes, .output))
    #expect(loopTime(of: base, over: 0.3) < 0.05)
    #expect(log.events(.output) == [.openCompleted, .canAcceptBytes])
  }

  // S135
  @Test("lending holds no more than the input limit, and a longer look as much as it asked for")
  func inputLimit() throws {
    let link = try TCPLink()
    #expect(link.pair.input.property(.inputLimit) == 32_768)
    #expect(link.pair.input.setProperty(.inputLimit, to: 1_000))
    link.peer.send(pattern(50_000))
    #expect(eventually(within: 5) { waitingBytes(link.pair.input.property(.socketNativeHandle)!) >= 50_000 })
    var largest = 0
    link.pair.input.withAvailableBytes { bytes in
      largest = bytes.byteCount
      return 0
    }
    #expect(largest >= 1 && largest <= 1_000)
    link.pair.input.withAvailableBytes(atLeast: 40_000) { bytes in
      largest = bytes.byteCount
      return 0
    }
    #expect(largest >= 40_000)
    link.peer.shutdownWrite()
    #expect(try readToEnd(link.pair.input) == pattern(50_000))
    #expect(!link.pair.input.setProperty(.inputLimit, to: 0))
  }

  // S127, S121
  @Test(
    "what is read is what was sent, whatever the sizes of reads and sends", arguments: [1, 7, 4_096, 100_000])
  func sizes(size: Int) throws {
    let link = try TCPLink()
    let bytes = pattern(size == 1 ? 20_000 : 400_000)
    let sending = onThread {
      var offset = 0
      while offset < bytes.count {
        let end = min(offset + 1 + offset % 9_000, bytes.count)
        link.peer.send(bytes[offset..<end])
        offset = end
      }
      link.peer.shutdownWrite()
    }
    var received: [UInt8] = []
    while link.pair.input.waitUntilReady(timeout: .seconds(5)) {
      guard let piece = try link.pair.input.read(upTo: size) else { continue }
      if piece.count == 0 { break }
      piece.withBytes { span in span.withUnsafeBytes { received += $0 } }
    }
    #expect(sending.wait(seconds: 5))
    #expect(received == bytes)
  }

  // MARK: - Out

  // S144, S139, S149, L3
  @Test(
    "canAcceptBytes is true exactly when a write would be taken, polled without a loop",
    arguments: [true, false])
  func canAccept(lent: Bool) throws {
    let link = try TCPLink.narrow()
    let raw = try RawLink()
    let pair = lent ? StreamPair(nativeSocket: raw.own.fd) : link.pair
    let peer = lent ? raw.peer : link.peer
    if lent {
      #expect(!pair.output.canAcceptBytes, "not open")
      pair.open()
    }
    #expect(pair.output.canAcceptBytes)
    var written = try fill(pair.output)
    #expect(!pair.output.canAcceptBytes)
    #expect(try pair.output.write([0]) == nil)
    var received = 0
    for _ in 0..<3 {
      // Once the peer has taken all that was written, there is room.
      received += peer.receive(written - received).count
      #expect(received == written)
      #expect(eventually(within: 5) { pair.output.canAcceptBytes })
      #expect(try pair.output.write([0]) == 1)
      written += 1
    }
    pair.close()
    #expect(!pair.output.canAcceptBytes)
  }

  // S149, S135, O1
  @Test("a write stream queues no more than its limit, and copied writes say so")
  func outputLimit() throws {
    let link = try TCPLink.narrow()
    let stream = link.pair.output
    #expect(stream.property(.outputLimit) == 65_536)
    let first = try fill(stream)
    #expect(stream.property(.queuedByteCount)! <= 65_536)
    #expect(stream.property(.bytesWritten) == UInt64(first))
    #expect(stream.setProperty(.outputLimit, to: 200_000))
    #expect(stream.canAcceptBytes)
    let second = try fill(stream)
    #expect(second >= 100_000)
    #expect(stream.property(.queuedByteCount)! <= 200_000)
    #expect(!stream.setProperty(.outputLimit, to: -1))
    stream.close()
    #expect(link.peer.receiveAll()?.count == first + second)
  }

  // L4, S177, F11
  @Test("the hard limit refuses a moved buffer with an error of its own, and the stream goes on")
  func hardLimit() throws {
    let link = try TCPLink.narrow()
    let stream = link.pair.output
    #expect(stream.setProperty(.outputHardLimit, to: 100_000))
    let taken = try fill(stream)
    let error = #expect(throws: StreamError.self) {
      try stream.write(moving: StreamBuffer(pattern(100_000)))
    }
    #expect(error?.domain == .streams && error?.code == StreamError.Misuse.queueFull.rawValue)
    #expect(stream.status == .open && stream.error == nil)
    #expect(link.peer.receive(taken).count == taken)
    #expect(try stream.flush(timeout: .seconds(5)))
    try stream.write(moving: StreamBuffer(pattern(90_000)))
    stream.close()
    #expect(link.peer.receiveAll() == pattern(90_000))
  }

  // F8
  @Test("flush waits until all is with the kernel, or for its limit")
  func flush() throws {
    let link = try TCPLink.narrow()
    let bytes = pattern(3_000_000)
    try link.pair.output.write(moving: StreamBuffer(bytes))
    #expect(try !link.pair.output.flush(timeout: .milliseconds(50)))
    let received = Shared<[UInt8]>([])
    let reading = onThread { received.with { $0 = link.peer.receive(bytes.count) } }
    #expect(try link.pair.output.flush(timeout: .seconds(10)))
    #expect(link.pair.output.property(.queuedByteCount) == 0)
    #expect(reading.wait(seconds: 10))
    #expect(received.value == bytes)
    #expect(try link.pair.output.flush())
    link.peer.reset()
    #expect(eventually(within: 5) { (try? link.pair.output.write([1])) == nil })
    #expect(throws: StreamError.self) { try link.pair.output.flush() }
  }

  // S137, S148, F1, F11, F13
  @Test("copied and moved writes reach the peer in the order of the calls")
  func order() throws {
    let link = try TCPLink.narrow()
    let base = try EventBase.startThread()
    link.pair.schedule(on: base)
    let bytes = pattern(2_000_000)
    let received = Shared<[UInt8]?>(nil)
    let reading = onThread { received.with { $0 = link.peer.receiveAll() } }
    var offset = 0
    var turn = 0
    while offset < bytes.count {
      let end = min(offset + 1 + turn * 977 % 150_000, bytes.count)
      if turn % 2 == 0 {
        try link.pair.output.write(moving: StreamBuffer(Array(bytes[offset..<end])))
      } else {
        #expect(try writeAll(Array(bytes[offset..<end]), to: link.pair.output) == end - offset)
      }
      offset = end
      turn += 1
    }
    link.pair.output.close()
    #expect(reading.wait(seconds: 10))
    #expect(received.value == bytes)
  }

  // S88, L3
  @Test(
    "after a write that fills, canAcceptBytes is told when room returns, once a write",
    arguments: [true, false])
  func roomReturns(lent: Bool) throws {
    let link = try TCPLink.narrow()
    let raw = try RawLink()
    let pair = lent ? StreamPair(nativeSocket: raw.own.fd) : link.pair
    let peer = lent ? raw.peer : link.peer
    if lent { pair.open() }
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(pair, on: base)
    func told() -> Int { log.events(.output).filter { $0 == .canAcceptBytes }.count }
    #expect(eventually(within: 5) { told() == 1 })
    for _ in 0..<3 {
      let taken = try fill(pair.output)
      pass(base)
      let before = told()
      pass(base)
      #expect(told() == before && !pair.output.canAcceptBytes)
      #expect(peer.receive(taken).count == taken)
      #expect(eventually(within: 5) { told() == before + 1 })
      pass(base)
      #expect(told() == before + 1)
    }
    pair.close()
    // The lent socket is given back on the base's thread: it may not be closed before.
    pass(base)
  }

  // S146, S173, S93
  @Test("a write after a reset throws, and both halves hear of the same error once")
  func writeAfterReset() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base)
    #expect(log.hears(.canAcceptBytes, .output))
    link.peer.reset()
    #expect(log.hears(.errorOccurred, .input) && log.hears(.errorOccurred, .output))
    let error = #expect(throws: StreamError.self) { try link.pair.output.write([1]) }
    #expect(error?.domain == .posix && [EPIPE, ECONNRESET].contains(error?.code))
    #expect(link.pair.input.error == error && link.pair.output.error == error)
    pass(base)
    #expect(log.events(.input).filter { $0 == .errorOccurred }.count == 1)
    #expect(log.events(.output).filter { $0 == .errorOccurred }.count == 1)
  }

  // O1
  @Test("the counters tell what was read, written and queued, also after close")
  func counters() throws {
    let link = try TCPLink.narrow()
    let (input, output) = (link.pair.input, link.pair.output)
    #expect(input.property(.bytesRead) == 0 && output.property(.bytesWritten) == 0)
    link.peer.send(pattern(1_234))
    #expect(try read(1_234, from: input) == pattern(1_234))
    try output.write(moving: StreamBuffer(pattern(2_000_000)))
    #expect(input.property(.bytesRead) == 1_234)
    #expect(output.property(.bytesWritten) == 2_000_000)
    let queued = try #require(output.property(.queuedByteCount))
    #expect(queued > 0 && queued < 2_000_000)
    #expect(!output.setProperty(.bytesWritten, to: 0))
    link.pair.close()
    #expect(link.peer.receiveAll()?.count == 2_000_000)
    #expect(eventually(within: 5) { output.property(.queuedByteCount) == 0 })
    #expect(output.property(.bytesWritten) == 2_000_000 && input.property(.bytesRead) == 1_234)
  }
}
