// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Closing and what the peer sees of it", .timeLimit(.minutes(2)))
struct ClosingTests {
  // S151, S152, G2, G4, D15
  @Test("closing the write half sends what is queued, then the end, and reading goes on")
  func writeHalf() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base)
    let bytes = pattern(1_500_000)
    try link.pair.output.write(moving: StreamBuffer(bytes))
    link.pair.output.close()
    #expect(link.peer.receiveAll() == bytes)
    link.peer.send([5, 6])
    #expect(eventually(within: 5) { log.bytes == [5, 6] })
    #expect(link.pair.input.status == .open && link.pair.output.status == .closed)
    link.peer.close()
    #expect(log.hears(.endEncountered, .input))
    #expect(log.events(.output).allSatisfy { $0 != .endEncountered && $0 != .errorOccurred })
  }

  // S155, S151
  @Test("closing the read half tells the peer nothing, and writing goes on")
  func readHalf() throws {
    let link = try TCPLink()
    link.pair.input.close()
    #expect(try link.pair.output.write([1, 2]) == 2)
    #expect(link.peer.receive(2) == [1, 2])
    var entry = pollfd(fd: link.peer.fd, events: Int16(POLLIN), revents: 0)
    #expect(poll(&entry, 1, 50) == 0, "no end, no reset")
    #expect(link.peer.send(pattern(1_000)) == 0)
    #expect(link.pair.output.status == .open)
    #expect(try link.pair.output.write([3]) == 1)
    link.pair.output.close()
    #expect(link.peer.receive(1) == [3])
    #expect(link.peer.receiveEnd(seconds: 5) == 0)
  }

  // S163, S145, S104, G5
  @Test("the peer's end ends the read half only; writing goes on to the other end")
  func peerHalfClose() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base)
    link.peer.send([1])
    link.peer.shutdownWrite()
    #expect(log.hears(.endEncountered, .input))
    #expect(log.bytes == [1])
    #expect(link.pair.input.status == .atEnd && link.pair.output.status == .open)
    for value in 1...20 {
      #expect(try link.pair.output.write([UInt8(value)]) == 1)
      #expect(link.peer.receive(1) == [UInt8(value)])
    }
    link.pair.output.close()
    #expect(link.peer.receiveEnd(seconds: 5) == 0)
    pass(base)
    #expect(log.events(.input).filter { $0 == .endEncountered }.count == 1)
    #expect(!log.all.contains(.errorOccurred))
  }

  // S154
  @Test("a lent socket is not shut down when its write half closes")
  func lentWriteHalf() throws {
    let link = try RawLink()
    let pair = StreamPair(nativeSocket: link.own.fd)
    pair.open()
    #expect(try pair.output.write([1]) == 1)
    pair.output.close()
    #expect(link.peer.receive(1) == [1])
    var entry = pollfd(fd: link.peer.fd, events: Int16(POLLIN | 0x2000), revents: 0)
    #expect(poll(&entry, 1, 50) == 0)
    pair.input.close()
    #expect(poll(&entry, 1, 50) == 0)
    #expect(link.own.send([2]) == 0)
    #expect(link.peer.receive(1) == [2])
  }

  // S161, S148, G2
  @Test("close never blocks, however much is queued and whatever the peer does")
  func neverBlocks() throws {
    let link = try TCPLink()
    try link.pair.output.write(moving: StreamBuffer(pattern(8_000_000)))
    let begin = monotonicSeconds()
    link.pair.close()
    #expect(monotonicSeconds() - begin < 1)
    #expect(link.pair.output.status == .closed && link.pair.input.status == .closed)
    #expect(link.peer.receiveAll()?.count == 8_000_000)
  }

  // S148, S7, G2
  @Test(
    "what a dropped pair had accepted reaches a peer that keeps reading, then the end",
    arguments: [true, false])
  func dropped(scheduled: Bool) throws {
    let bytes = pattern(2_000_000)
    let base = try EventBase.startThread()
    let peer: RawSocket
    do {
      let link = try TCPLink()
      peer = link.peer
      if scheduled { link.pair.schedule(on: base) }
      try link.pair.output.write(moving: StreamBuffer(bytes))
      // A stream that is scheduled is kept: this one is to be dropped.
      link.pair.unschedule(from: base)
    }
    #expect(peer.receiveAll() == bytes)
  }

  // S148: bytes of the peer that nobody read must not turn the end into a reset that eats ours.
  @Test("input that was not read does not cost the peer what was sent")
  func unreadInput() throws {
    let bytes = pattern(500_000)
    for _ in 0..<10 {
      let link = try TCPLink()
      link.peer.send(pattern(100_000))
      try link.pair.output.write(moving: StreamBuffer(bytes))
      link.pair.close()
      #expect(link.peer.receiveAll() == bytes)
    }
  }

  // G1, G6, S147
  @Test("abort cuts the connection: the peer sees a reset, and no event follows")
  func abort() throws {
    for scheduled in [true, false] {
      let link = try TCPLink()
      let base = try EventBase.startThread()
      let log = PairLog()
      if scheduled { log.watch(link.pair, on: base) }
      let socket = try #require(link.pair.input.property(.socketNativeHandle).flatMap { SocketIdentity($0) })
      try link.pair.output.write(moving: StreamBuffer(pattern(8_000_000)))
      pass(base)
      let count = log.all.count
      link.pair.abort()
      #expect(link.pair.input.status == .closed && link.pair.output.status == .closed)
      #expect(eventually(within: 5) { !socket.isOpen })
      var received = 0
      while !link.peer.receive(1).isEmpty { received += 1 + link.peer.receive(1_000_000).count }
      #expect(received < 8_000_000)
      #expect(link.peer.send([1]) != 0, "the connection is gone")
      pass(base)
      #expect(log.all.count == count)
      link.pair.abort()
    }
  }

  // G6
  @Test("after abort the peer's read fails with ECONNRESET")
  func abortCode() throws {
    let link = try TCPLink()
    link.pair.output.abort()
    #expect(link.peer.receiveEnd(seconds: 5) == ECONNRESET)
  }

  // S158
  @Test("abort leaves a lent socket alone")
  func abortLent() throws {
    let link = try RawLink()
    let pair = StreamPair(nativeSocket: link.own.fd)
    pair.open()
    pair.abort()
    #expect(eventually(within: 5) { isBlocking(link.own.fd) })
    #expect(link.own.send([1]) == 0)
    #expect(link.peer.receive(1) == [1])
  }

  // Rule 10 of the architecture, G6
  @Test("queued bytes that a peer never takes are given up after the linger limit, and the socket is closed")
  func lingerLimit() throws {
    let link = try TCPLink.narrow()
    let socket = try #require(link.pair.input.property(.socketNativeHandle).flatMap { SocketIdentity($0) })
    #expect(link.pair.output.setProperty(.lingerTimeout, to: .milliseconds(200)))
    try link.pair.output.write(moving: StreamBuffer(pattern(8_000_000)))
    link.pair.close()
    let begin = monotonicSeconds()
    #expect(eventually(within: 10) { !socket.isOpen })
    #expect(monotonicSeconds() - begin >= 0.15)
  }

  // Rule 10 of the architecture
  @Test("a peer that takes some bytes within each linger limit gets them all")
  func slowPeer() throws {
    let link = try TCPLink()
    link.pair.output.setProperty(.lingerTimeout, to: .milliseconds(400))
    let bytes = pattern(6_000_000)
    try link.pair.output.write(moving: StreamBuffer(bytes))
    link.pair.close()
    var received: [UInt8] = []
    // Longer in all than the limit, each pause shorter: the scenario.
    for _ in 0..<8 {
      usleep(100_000)
      received += link.peer.receive(700_000)
    }
    received += link.peer.receiveAll() ?? []
    #expect(received == bytes)
  }

  // S113, S22
  @Test("close takes a stream off its base, which can go")
  func closeFreesBase() throws {
    let link = try TCPLink()
    var base: EventBase? = try EventBase.startThread()
    weak let observer = base
    let log = PairLog()
    log.watch(link.pair, on: base!)
    pass(base!)
    base = nil
    #expect(observer != nil, "a scheduled stream keeps its base")
    link.pair.close()
    #expect(eventually(within: 5) { observer == nil })
    #expect(link.pair.input.status == .closed)
  }

  // S22, report 64
  @Test("a scheduled, open stream that nobody keeps lives until its terminal event")
  func keptByBase() throws {
    let base = try EventBase.startThread()
    let log = PairLog()
    let peer: RawSocket
    weak var observer: ReadStream?
    do {
      let link = try TCPLink()
      peer = link.peer
      observer = link.pair.input
      log.watch(link.pair.input, on: base)
    }
    #expect(observer != nil)
    peer.send([1, 2])
    #expect(eventually(within: 5) { log.bytes == [1, 2] })
    peer.close()
    #expect(log.hears(.endEncountered, .input))
    #expect(eventually(within: 5) { observer == nil })
  }

  // S22
  @Test("an unscheduled stream that nobody keeps is closed")
  func notKept() throws {
    let base = try EventBase.startThread()
    let peer: RawSocket
    do {
      let link = try TCPLink()
      peer = link.peer
      link.pair.schedule(on: base)
      pass(base)
      link.pair.unschedule(from: base)
    }
    #expect(peer.receiveEnd(seconds: 5) == 0)
  }

  // G8, S126, S173
  @Test("bytes that arrived are read although a write has failed, and the error comes behind them")
  func bytesBeforeError() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair.input, on: base, reading: false)
    log.watch(link.pair.output, on: base)
    link.peer.send(pattern(1_000))
    #expect(log.hears(.hasBytesAvailable, .input))
    try link.pair.output.write(moving: StreamBuffer(pattern(8_000_000)))
    link.peer.reset()
    #expect(log.hears(.errorOccurred, .output))
    #expect(link.pair.input.status == .open)
    #expect(try read(1_000, from: link.pair.input) == pattern(1_000))
    #expect(log.hears(.errorOccurred, .input))
    let error = try #require(link.pair.input.error)
    #expect(error.domain == .posix && [ECONNRESET, EPIPE].contains(error.code))
    #expect(link.pair.output.error == error)
    #expect(!log.all.contains(.endEncountered))
  }

  // S164, S165, S174
  @Test("the error is nil until there is one, and stays after close")
  func errorStays() throws {
    let link = try TCPLink()
    #expect(link.pair.input.error == nil)
    link.peer.reset()
    #expect(link.pair.input.waitUntilReady(timeout: .seconds(5)))
    #expect(throws: StreamError.self) { _ = try link.pair.input.read(upTo: 1) }
    let error = try #require(link.pair.input.error)
    #expect(error.domain == .posix && error.code == ECONNRESET)
    link.pair.close()
    #expect(link.pair.input.error == error && link.pair.output.error == error)
    #expect(link.pair.input.status == .error)
  }
}
