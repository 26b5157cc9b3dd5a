// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Field reports: reading and the end", .timeLimit(.minutes(2)))
struct EndRegressions {
  // Field report 7, G7, S90
  @Test("7: a short tail that arrives together with the end is never shown", arguments: [true, false])
  func shortTail(bufferevent: Bool) throws {
    var options = ConnectionOptions()
    if bufferevent { options.transport = .bufferevent }
    let base = try EventBase.startThread()
    for round in 0..<20 {
      let link = try TCPLink(options)
      let (lent, order) = (Shared<[UInt8]>([]), Shared<[StreamEvent]>([]))
      link.pair.input.setClient(.all) { stream, event in
        order.with { $0.append(event) }
        guard event == .hasBytesAvailable else { return }
        stream.withAvailableBytes(atLeast: 100) { bytes in
          bytes.withUnsafeBytes { memory in lent.with { $0 += memory } }
          return bytes.byteCount
        }
      }
      link.pair.input.schedule(on: base)
      if round % 2 == 0 {
        link.peer.send(pattern(16))
      } else {
        // Ten first, which are too few and are kept; then the rest with the end.
        link.peer.send(pattern(16)[..<10])
        #expect(eventually(within: 5) { order.value.contains(.hasBytesAvailable) })
        link.peer.send(pattern(16)[10...])
      }
      link.peer.close()
      #expect(eventually(within: 5) { order.value.contains(.endEncountered) }, "\(order.value)")
      #expect(lent.value == pattern(16))
      #expect(order.value.filter { $0 == .endEncountered }.count == 1)
      link.pair.close()
    }
  }

  // Field report 32
  @Test("32: if no read is waiting, the peer's departure goes unnoticed: registered for the end only")
  func departureWithoutReader() throws {
    let base = try EventBase.startThread()
    for events in [[.endEncountered, .errorOccurred], StreamEvents.all] {
      let link = try TCPLink()
      let log = PairLog()
      log.watch(link.pair.input, on: base, reading: false, events: events)
      pass(base)
      link.peer.close()
      let begin = monotonicSeconds()
      #expect(log.hears(.endEncountered, .input))
      #expect(monotonicSeconds() - begin < 1)
      #expect(link.pair.input.status == .atEnd)
    }
  }

  // Field report 32
  @Test("32: with bytes that nobody takes, the end is told at once after they are read")
  func departureBehindBytes() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base, reading: false)
    link.peer.send([1, 2, 3])
    #expect(log.hears(.hasBytesAvailable, .input))
    link.peer.close()
    pass(base)
    #expect(!log.events(.input).contains(.endEncountered))
    base.sync { log.take(from: link.pair.input) }
    let begin = monotonicSeconds()
    #expect(log.hears(.endEncountered, .input))
    #expect(monotonicSeconds() - begin < 1)
    #expect(log.bytes == [1, 2, 3])
    #expect(link.pair.output.status == .open)
  }

  // Field report 32
  @Test("32: a reset is told even while the reader does not take what waits", arguments: [true, false])
  func resetWhilePaused(both: Bool) throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair.input, on: base, reading: false)
    if both { log.watch(link.pair.output, on: base) }
    link.peer.send([1, 2, 3])
    #expect(log.hears(.hasBytesAvailable, .input))
    pass(base)
    link.peer.reset()
    if both { #expect(log.hears(.errorOccurred, .output)) }
    // The read half hears of it behind its bytes.
    #expect(link.pair.input.status == .open)
    // A client that reads when it is told so learns of it, behind the bytes.
    #expect(
      eventually(within: 5) {
        base.sync { log.take(from: link.pair.input) }
        return log.events(.input).contains(.errorOccurred)
      })
    #expect(log.bytes == [1, 2, 3])
    #expect([ECONNRESET, EPIPE].contains(link.pair.input.error?.code))
  }

  // Field report 32
  @Test("32: a reset is told although the client wants only the end and errors, and bytes wait")
  func resetUnwantedBytes() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair.input, on: base, reading: false, events: [.endEncountered, .errorOccurred])
    log.watch(link.pair.output, on: base)
    pass(base)
    link.peer.send([1, 2, 3])
    #expect(eventually(within: 5) { link.pair.input.hasBytesAvailable })
    pass(base)
    link.peer.reset()
    #expect(log.hears(.errorOccurred, .output))
  }

  // Field report 35
  @Test("35: a two-way copier hangs, or drops the reply, when one side finishes first")
  func relay() throws {
    let base = try EventBase.startThread()
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let server = try RawListener()
    let reply = pattern(100_000)
    let ended = Shared(0)
    let kept = Shared<[StreamPair]>([])
    @Sendable func copy(_ from: StreamPair, to: StreamPair) {
      let output = to.output
      @Sendable func move(_ input: ReadStream) {
        input.withAvailableBytes { bytes in (try? output.write(bytes)) ?? 0 }
      }
      let input = from.input
      output.setClient([.canAcceptBytes]) { _, _ in move(input) }
      input.setClient([.hasBytesAvailable, .endEncountered, .errorOccurred]) { stream, event in
        if event == .hasBytesAvailable { return move(stream) }
        ended.with { $0 += 1 }
        stream.close()
        output.close()
      }
    }
    listener.schedule(on: base) { pair, _ in
      let onward = StreamPair(address: server.address)
      copy(pair, to: onward)
      copy(onward, to: pair)
      for side in [pair, onward] {
        side.schedule(on: base)
        side.open()
      }
      kept.with { $0 += [pair, onward] }
    }
    let plain = StreamPair(address: listener.localAddress)
    plain.open()
    #expect(try writeAll(pattern(10), to: plain.output) == 10)
    plain.output.close()
    let serving = onThread {
      guard let peer = server.accept() else { return }
      if peer.receiveAll() != pattern(10) { return }
      // The server that takes its time, as in the report.
      usleep(200_000)
      peer.send(reply)
    }
    #expect(try readToEnd(plain.input) == reply)
    #expect(serving.wait(seconds: 10))
    #expect(eventually(within: 5) { ended.value == 2 })
    #expect(kept.value.allSatisfy { $0.input.error == nil && $0.output.status == .closed })
    listener.close()
  }

  // Field report 37, S127
  @Test(
    "37: a message whose size is a multiple of the inner chunk hangs the reader, or is cut",
    arguments: [4_095, 4_096, 4_097, 8_192, 16_384, 32_768, 65_536, 65_537, 131_072], [false, true])
  func chunkSizes(size: Int, bufferevent: Bool) throws {
    var options = ConnectionOptions()
    if bufferevent { options.transport = .bufferevent }
    let link = try TCPLink(options)
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base)
    for _ in 0..<3 {
      let before = log.bytes.count
      link.peer.send(pattern(size))
      #expect(eventually(within: 5) { log.bytes.count == before + size })
      #expect(Array(log.bytes.dropFirst(before)) == pattern(size))
      try link.pair.output.write(moving: StreamBuffer(pattern(size)))
      #expect(link.peer.receive(size) == pattern(size))
    }
    #expect(!log.all.contains(.endEncountered))
  }

  // Field report 77, S152
  @Test("77: closing one end of an in-memory pair tells the other end nothing", arguments: [true, false])
  func pairInMemory(bound: Bool) throws {
    let base = try EventBase.startThread()
    let log = PairLog()
    let (writer, reader): (StreamPair, StreamPair)
    if bound {
      writer = .bound()
      reader = writer
    } else {
      (writer, reader) = try StreamPair.connected()
    }
    log.watch(reader.input, on: base)
    writer.open()
    reader.open()
    #expect(try writer.output.write([1, 2, 3]) == 3)
    writer.output.close()
    #expect(log.hears(.endEncountered, .input))
    #expect(log.bytes == [1, 2, 3])
    #expect(log.events(.input).last == .endEncountered)
  }
}
