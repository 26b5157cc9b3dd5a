// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import CLibEvent
import Glibc
import SocketStreams
import Testing

@Suite("Field reports: writing and flow", .timeLimit(.minutes(2)))
struct WriteRegressions {
  /// Writes to a peer that is gone until the stream has failed.
  static func writeToGonePeer(on base: EventBase?, _ options: ConnectionOptions = ConnectionOptions()) throws
  {
    let listener = try RawListener()
    let pair = StreamPair(address: listener.address, options: options)
    let log = PairLog()
    log.watch(pair, on: base)
    pair.open()
    listener.accept()?.close()
    #expect(eventually(within: 5) { pair.output.status != .opening })
    // The first write is taken, the peer answers it with a reset, and the next one fails.
    #expect(
      eventually(within: 5) {
        _ = try? pair.output.write([1])
        return pair.output.status == .error
      })
    let error = pair.output.error
    #expect(error?.domain == .posix && [EPIPE, ECONNRESET].contains(error?.code))
    if base != nil {
      #expect(log.hears(.errorOccurred, .output))
      // As the queue's own write: by the loop, not in the call.
      let queued = StreamPair(address: listener.address, options: options)
      log.watch(queued, on: base)
      queued.open()
      let peer = listener.accept()
      #expect(eventually(within: 5) { queued.output.status == .open })
      try queued.output.write(moving: StreamBuffer(pattern(8_000_000)))
      peer?.close()
      #expect(eventually(within: 5) { queued.output.status == .error })
    }
  }

  // Field report 1, S147, F15
  @Test(
    "1: a write to a connection that the other side has dropped kills the process", arguments: [false, true])
  func brokenPipe(bufferevent: Bool) async {
    await #expect(processExitsWith: .success) { [bufferevent] in
      makeBrokenPipeSignalDeadly()
      var options = ConnectionOptions()
      if bufferevent { options.transport = .bufferevent }
      if !bufferevent { try WriteRegressions.writeToGonePeer(on: nil) }
      try WriteRegressions.writeToGonePeer(on: try EventBase.startThread(), options)
      var now = sigaction()
      sigaction(SIGPIPE, nil, &now)
      #expect(now.__sigaction_handler.sa_handler == nil, "the default disposition is still in place")
    }
  }

  // Field report 1, S147, F15, rule 7 of the architecture
  @Test("1: the same on an event_base that a host made and runs", arguments: [false, true])
  func brokenPipeOnHostsBase(bufferevent: Bool) async {
    await #expect(processExitsWith: .success) { [bufferevent] in
      makeBrokenPipeSignalDeadly()
      let host = HostBase()
      let base = try EventBase(adopting: host.base)
      let ended = host.run()
      var options = ConnectionOptions()
      if bufferevent { options.transport = .bufferevent }
      try WriteRegressions.writeToGonePeer(on: base, options)
      base.execute { base.invalidate() }
      #expect(ended.wait(seconds: 5))
      host.free()
    }
  }

  // Field report 1
  @Test("1: a handler for SIGPIPE that the program set is the one in place afterwards, and was not called")
  func ownHandler() async {
    await #expect(processExitsWith: .success) {
      signal(SIGPIPE) { _ in _exit(99) }
      var before = sigaction()
      sigaction(SIGPIPE, nil, &before)
      try WriteRegressions.writeToGonePeer(on: nil)
      try WriteRegressions.writeToGonePeer(on: try EventBase.startThread())
      let own = try EventBase()
      let writing = onThread {
        try? WriteRegressions.writeToGonePeer(on: own)
        own.stop()
      }
      own.run()
      #expect(writing.wait(seconds: 5))
      var after = sigaction()
      sigaction(SIGPIPE, nil, &after)
      #expect(
        unsafeBitCast(after.__sigaction_handler.sa_handler, to: Int.self)
          == unsafeBitCast(before.__sigaction_handler.sa_handler, to: Int.self))
      var mask = sigset_t()
      pthread_sigmask(SIG_BLOCK, nil, &mask)
      #expect(sigismember(&mask, SIGPIPE) == 0)
    }
  }

  // Field report 2, S148, G2
  @Test(
    "2: bytes written just before close never arrive, since the close overtakes the queue",
    arguments: [true, false], [true, false])
  func closeOvertakesQueue(bothHalves: Bool, scheduled: Bool) throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    if scheduled { log.watch(link.pair, on: base) }
    let outcome = Shared<[UInt8]?>(nil)
    let bytes = pattern(4_000_000)
    let reading = onThread { [peer = link.peer] in
      // The peer that is slow to begin, as in the report.
      usleep(300_000)
      outcome.with { $0 = peer.receiveAll() }
    }
    try base.sync {
      try link.pair.output.write(moving: StreamBuffer(bytes))
      if bothHalves { link.pair.close() } else { link.pair.output.close() }
    }
    #expect(reading.wait(seconds: 10))
    #expect(outcome.value?.count == 4_000_000, "and then a normal end")
    #expect(outcome.value == bytes)
  }

  // Field report 2, S148: through a bufferevent, which drops its output when it is freed.
  @Test(
    "2: the same through a bufferevent, also for a pair that is dropped",
    arguments: [true, false])
  func closeOvertakesBufferevent(dropped: Bool) throws {
    var options = ConnectionOptions()
    options.transport = .bufferevent
    let bytes = pattern(4_000_000)
    let base = try EventBase.startThread()
    let peer: RawSocket
    do {
      let link = try TCPLink(options)
      peer = link.peer
      if !dropped { link.pair.schedule(on: base) }
      try link.pair.output.write(moving: StreamBuffer(bytes))
      if !dropped { link.pair.close() }
    }
    #expect(peer.receiveAll() == bytes)
  }

  // Field report 8, S87
  @Test(
    "8: after a can-accept event that the program lets pass, its later data sits still, or the event repeats")
  func ignoredCanAccept() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base)
    #expect(log.hears(.canAcceptBytes, .output))
    let later = Gate()
    base.schedule(after: .milliseconds(100)) { later.open() }
    #expect(later.wait(seconds: 5))
    #expect(log.events(.output) == [.openCompleted, .canAcceptBytes], "exactly one idle event")
    #expect(try link.pair.output.write(Array("hello".utf8)) == 5)
    #expect(link.peer.receive(5) == Array("hello".utf8))
    #expect(eventually(within: 5) { log.events(.output).count == 3 })
    pass(base)
    #expect(log.events(.output) == [.openCompleted, .canAcceptBytes, .canAcceptBytes])
  }

  // Field report 11
  @Test(
    "11: a writer that waits for space spins for ever after the stream has failed", arguments: [true, false])
  func waitingWriter(scheduled: Bool) throws {
    let link = try TCPLink.narrow()
    let base = try EventBase.startThread()
    if scheduled { link.pair.schedule(on: base) }
    let output = link.pair.output
    _ = try fill(output)
    #expect(!output.canAcceptBytes)
    let polled = Gate()
    let polling = onThread {
      if eventually(within: 5, { output.canAcceptBytes || output.status == .error }) { polled.open() }
    }
    let blocked = Gate()
    let blocking = onThread { if output.waitUntilReady(timeout: .seconds(5)) { blocked.open() } }
    link.peer.reset()
    #expect(polling.wait(seconds: 10) && blocking.wait(seconds: 10))
    #expect(polled.wait(seconds: 0) && blocked.wait(seconds: 0))
    #expect(throws: StreamError.self) { try output.write([1]) }
    #expect(output.status == .error)
  }

  // Field report 11: the same for a socket that is lent, where nothing is queued.
  @Test("11: a writer on a lent socket that waits for space learns of the failure")
  func waitingWriterLent() throws {
    let link = try RawLink()
    let pair = StreamPair(nativeSocket: link.own.fd)
    pair.open()
    let output = pair.output
    _ = try fill(output)
    #expect(!output.canAcceptBytes)
    link.peer.reset()
    #expect(eventually(within: 5) { output.canAcceptBytes || output.status == .error })
    #expect(throws: StreamError.self) { try output.write([1]) }
    #expect(output.status == .error)
    pair.close()
  }

  // Field report 13, H1
  @Test("13: a write timeout never fires, as the kernel takes the bytes")
  func writeTimeout() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base)
    let output = link.pair.output
    #expect(output.setProperty(.writeTimeout, to: .milliseconds(500)))
    let begin = monotonicSeconds()
    try output.write(moving: StreamBuffer([UInt8](repeating: 1, count: 64_000_000)))
    #expect(log.hears(.errorOccurred, .output, within: 10))
    #expect(monotonicSeconds() - begin >= 0.5)
    #expect(output.error?.code == ETIMEDOUT && output.error?.domain == .posix)
    #expect(log.hears(.errorOccurred, .input))
    let taken = output.property(.bytesWritten)!
    #expect(taken == 64_000_000)
  }

  // Field report 31, S145, G5
  @Test("31: after the peer closes its sending side, writes are reported as done but do not arrive")
  func writesAfterEnd() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    let bytes = pattern(1_000_000)
    let output = link.pair.output
    let failures = Shared(0)
    log.watch(
      link.pair, on: base,
      input: { _, event in
        guard event == .endEncountered else { return }
        do {
          try output.write(moving: StreamBuffer(bytes))
        } catch {
          failures.with { $0 += 1 }
        }
        output.close()
      })
    link.peer.shutdownWrite()
    #expect(link.peer.receiveAll() == bytes)
    #expect(failures.value == 0)
    #expect(!log.all.contains(.errorOccurred))
  }

  // Field report 46, F14, S128, S142
  @Test("46: a write of zero bytes is an error that ends the connection", arguments: [true, false])
  func zeroBytes(scheduled: Bool) throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: scheduled ? base : nil)
    if scheduled { #expect(log.hears(.canAcceptBytes, .output)) }
    #expect(try link.pair.output.write([]) == 0)
    try link.pair.output.write(moving: StreamBuffer([]))
    var none = [UInt8]()
    #expect(try none.withUnsafeMutableBytes { try link.pair.input.read(into: $0) } == 0)
    #expect(link.pair.input.status == .open && link.pair.output.status == .open)
    #expect(try link.pair.output.write([1]) == 1)
    #expect(link.peer.receive(1) == [1])
    link.peer.send([2])
    if scheduled {
      #expect(eventually(within: 5) { log.bytes == [2] })
      #expect(!log.all.contains(.errorOccurred) && !log.all.contains(.endEncountered))
    } else {
      #expect(try read(1, from: link.pair.input) == [2])
    }
  }

  // Field report 47, S135, L1
  @Test("47: a slow consumer does not slow the sender, and memory grows")
  func slowConsumer() async {
    await #expect(processExitsWith: .success) {
      let link = try TCPLink.narrow()
      let base = try EventBase.startThread()
      let log = PairLog()
      log.watch(link.pair.input, on: base, reading: false)
      let piece = [UInt8](repeating: 7, count: 65_536)
      let (sent, stop) = (Shared(0), Shared(false))
      let sending = onThread { [peer = link.peer] in
        while !stop.value {
          let count = send(peer.fd, piece, piece.count, Int32(MSG_NOSIGNAL))
          if count <= 0 { return }
          sent.with { $0 += count }
        }
      }
      let input = link.pair.input
      let done = Signal()
      var memory = [UInt8](repeating: 0, count: 4_096)
      let reading = base.schedule(after: .milliseconds(100), repeating: true) {
        _ = try? memory.withUnsafeMutableBytes { try input.read(into: $0) }
        done.raise()
      }
      #expect(done.wait(3, seconds: 5))
      let before = residentBytes()
      #expect(done.wait(15, seconds: 10))
      #expect(residentBytes() - before < 2_000_000)
      // What was read, and what the kernel holds for two sockets.
      #expect(sent.value < 18 * 4_096 + 16_000_000)
      reading.cancel()
      stop.with { $0 = true }
      link.pair.abort()
      #expect(sending.wait(seconds: 5))
    }
  }
}

/// A host program's base, run on a thread of the host's.
final class HostBase: @unchecked Sendable {
  // The pointer never changes; libevent's functions are called on the host's thread, or while it does not run.
  let base = event_base_new()!
  func run() -> Gate { onThread { [self] in _ = event_base_dispatch(base) } }
  func free() { event_base_free(base) }
}
