// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Opening over the network", .timeLimit(.minutes(2)))
struct OpeningTests {
  // S42, S43, S80, S35, A21
  @Test("open returns at once with the status opening, and the outcome comes as an event afterwards")
  func asynchronous() throws {
    let listener = try BlackHole()
    let base = try EventBase.startThread()
    let pair = StreamPair(host: "127.0.0.1", port: listener.port)
    let log = PairLog()
    let statuses = Shared<[StreamStatus]>([])
    log.watch(
      pair, on: base,
      input: { stream, _ in statuses.with { $0.append(stream.status) } },
      output: { stream, _ in statuses.with { $0.append(stream.status) } })
    base.sync {
      #expect(pair.open())
      #expect(pair.input.status == .opening && pair.output.status == .opening)
      #expect(log.all.isEmpty)
    }
    pass(base)
    #expect(log.all.isEmpty)
    #expect(listener.open() != nil)
    #expect(log.hears(.openCompleted, .input, within: 10) && log.hears(.canAcceptBytes, .output))
    let peer = try #require(listener.open())
    pass(base)
    #expect(log.events(.input) == [.openCompleted])
    #expect(log.events(.output) == [.openCompleted, .canAcceptBytes])
    #expect(Set(statuses.value) == [.open])
    #expect(log.strayCount == 0)
    peer.close()
  }

  // S44, S43
  @Test("a stream that is scheduled nowhere opens, or fails, while it is polled", arguments: [true, false])
  func polled(listening: Bool) throws {
    let refused = try RefusedPort()
    let listener = try RawListener()
    let pair = StreamPair(host: "127.0.0.1", port: listening ? listener.port : refused.port)
    #expect(pair.input.open())
    // By now it may have failed already, and then this is refused.
    pair.output.open()
    #expect(eventually(within: 5) { pair.input.status != .opening })
    #expect(pair.input.status == (listening ? .open : .error))
    #expect(pair.output.status == pair.input.status)
    #expect((pair.input.error?.code ?? 0) == (listening ? 0 : ECONNREFUSED))
  }

  // S38, S39, S50
  @Test(
    "a half opened after the connection is up is open on return, and hears of it", arguments: [true, false])
  func lateHalf(readerLast: Bool) throws {
    let listener = try RawListener()
    let base = try EventBase.startThread()
    let pair = StreamPair(address: listener.address)
    let log = PairLog()
    log.watch(pair, on: base)
    let (early, late): (SocketStream, SocketStream) =
      readerLast ? (pair.output, pair.input) : (pair.input, pair.output)
    #expect(early.open())
    #expect(log.hears(.openCompleted, readerLast ? .output : .input))
    #expect(late.status == .notOpen)
    #expect(log.events(readerLast ? .input : .output).isEmpty, "S41")
    #expect(late.open())
    #expect(late.status == .open)
    #expect(log.hears(.openCompleted, readerLast ? .input : .output))
    let peer = try #require(listener.accept())
    #expect(listener.accept(seconds: 0) == nil)
    pass(base)
    #expect(log.events(.input) == [.openCompleted])
    #expect(log.events(.output) == [.openCompleted, .canAcceptBytes])
    peer.close()
  }

  // S38
  @Test("a half opened while the other is connecting joins the same connection")
  func joining() throws {
    let hole = try BlackHole()
    let base = try EventBase.startThread()
    let pair = StreamPair(host: "127.0.0.1", port: hole.port)
    let log = PairLog()
    log.watch(pair, on: base)
    #expect(pair.input.open())
    pass(base)
    #expect(pair.output.open())
    #expect(pair.output.status == .opening)
    let waiting = hole.open()
    #expect(waiting != nil)
    #expect(log.hears(.openCompleted, .input, within: 10) && log.hears(.openCompleted, .output, within: 10))
    #expect(hole.open() != nil)
    pair.close()
  }

  // S40, S51, S93, S165, S173, S174
  @Test("a failed open is one error on each opened half, the same, and a later open fails at once")
  func failed() throws {
    let refused = try RefusedPort()
    let base = try EventBase.startThread()
    let pair = StreamPair(host: "127.0.0.1", port: refused.port)
    let log = PairLog()
    let seen = Shared<[StreamError?]>([])
    log.watch(
      pair, on: base,
      input: { stream, _ in seen.with { $0.append(stream.error) } },
      output: { stream, _ in seen.with { $0.append(stream.error) } })
    #expect(pair.input.open())
    #expect(log.hears(.errorOccurred, .input))
    #expect(!pair.output.open())
    #expect(pair.output.status == .error)
    #expect(log.hears(.errorOccurred, .output))
    pass(base)
    #expect(log.events(.input) == [.errorOccurred] && log.events(.output) == [.errorOccurred])
    let error = try #require(pair.input.error)
    #expect(error.domain == .posix && error.code == ECONNREFUSED)
    #expect(pair.output.error == error)
    #expect(seen.value == [error, error])
  }

  // S166, S173, A21
  @Test("a name that does not resolve fails in the resolver's domain, with no descriptor and no success")
  func unresolved() throws {
    var options = ConnectionOptions()
    options.resolver = StaticResolver([:])
    let base = try EventBase.startThread()
    let pair = StreamPair(host: "no-such-host.invalid", port: 80, options: options)
    let log = PairLog()
    log.watch(pair, on: base)
    #expect(pair.input.open())
    // By now it may have failed already, and then this is refused.
    pair.output.open()
    #expect(log.hears(.errorOccurred, .input) && log.hears(.errorOccurred, .output))
    #expect(pair.input.error?.domain == .resolver)
    #expect(pair.input.error?.code == -2, "EAI_NONAME")
    #expect(pair.output.error == pair.input.error)
    #expect(pair.input.property(.socketNativeHandle) == nil)
    #expect(log.events(.input) == [.errorOccurred])
  }

  // S52, S53
  @Test("a name whose ::1 is refused opens on 127.0.0.1, and tells what failed before")
  func secondAddress() throws {
    let refused = try RefusedPort(address: "::1")
    let listener = try RawListener(port: refused.port)
    var options = ConnectionOptions()
    options.resolver = StaticResolver(["two.test": ["::1", "127.0.0.1"]])
    let base = try EventBase.startThread()
    let pair = StreamPair(host: "two.test", port: refused.port, options: options)
    let log = PairLog()
    log.watch(pair, on: base)
    pair.open()
    #expect(log.hears(.openCompleted, .input))
    #expect(listener.accept() != nil)
    #expect(pair.input.property(.remoteAddress) == listener.address)
    let attempts = try #require(pair.input.property(.connectAttempts))
    #expect(
      attempts == [ConnectAttempt(address: SocketAddress(ip: "::1", port: refused.port)!, code: ECONNREFUSED)]
    )
    #expect(!log.all.contains(.errorOccurred))
  }

  // S31, S32, S29, S30, A22
  @Test("a second open is refused and changes nothing, at every stage of a stream's life")
  func secondOpen() throws {
    let hole = try BlackHole()
    let opening = StreamPair(host: "127.0.0.1", port: hole.port)
    #expect(opening.open())
    #expect(!opening.input.open() && !opening.output.open())
    #expect(opening.input.status == .opening)
    opening.close()
    #expect(opening.input.status == .closed)
    #expect(!opening.input.open())
    #expect(opening.input.status == .closed && opening.input.error == nil)

    let link = try TCPLink()
    #expect(!link.pair.open())
    #expect(try writeAll([1], to: link.pair.output) == 1)
    #expect(link.peer.receive(1) == [1])
    link.pair.close()
    link.pair.close()
    #expect(!link.pair.open())
    #expect(link.pair.output.status == .closed)

    let refused = try RefusedPort()
    let failed = StreamPair(host: "127.0.0.1", port: refused.port)
    failed.open()
    #expect(eventually(within: 5) { failed.input.status == .error })
    let error = failed.input.error
    #expect(!failed.input.open() && !failed.output.open())
    failed.close()
    #expect(failed.input.status == .error && failed.input.error == error, "S29, S164")
  }

  // S54, S57
  @Test("close while opening cancels: no event follows, and the socket is closed")
  func closeWhileOpening() async {
    await #expect(processExitsWith: .success) {
      let hole = try BlackHole()
      let base = try EventBase.startThread()
      var options = ConnectionOptions()
      options.connectTimeout = .milliseconds(300)
      let log = PairLog()
      func open() -> StreamPair {
        let pair = StreamPair(host: "127.0.0.1", port: hole.port, options: options)
        log.watch(pair, on: base)
        pair.open()
        return pair
      }
      open().close()  // the loops and their descriptors are there now
      let count = settledSocketCount()
      var pairs = (0..<20).map { _ in open() }
      #expect(eventually(within: 5) { openSocketCount() == count + 20 })
      for (index, pair) in pairs.enumerated() {
        switch index % 3 {
        case 0: pair.close()
        case 1: base.sync { pair.close() }
        // Scheduled, the base would keep it.
        default: pair.unschedule(from: base)
        }
      }
      pairs = []
      #expect(eventually(within: 5) { openSocketCount() == count })
      // Past the time limit that was set: it must not be told any more.
      let later = Gate()
      base.schedule(after: .milliseconds(400)) { later.open() }
      #expect(later.wait(seconds: 5))
      #expect(log.all.isEmpty)
    }
  }

  // S54
  @Test("closing one half while opening leaves the other to open", arguments: [true, false])
  func closeOneWhileOpening(reader: Bool) throws {
    let hole = try BlackHole()
    let base = try EventBase.startThread()
    let pair = StreamPair(host: "127.0.0.1", port: hole.port)
    let log = PairLog()
    log.watch(pair, on: base)
    pair.open()
    if reader { pair.input.close() } else { pair.output.close() }
    #expect(hole.open() != nil)
    #expect(log.hears(.openCompleted, reader ? .output : .input, within: 10))
    #expect(log.events(reader ? .input : .output).isEmpty)
    let peer = try #require(hole.open())
    if reader {
      #expect(try pair.output.write([1]) == 1)
      #expect(peer.receive(1) == [1])
    } else {
      peer.send([1])
      #expect(eventually(within: 5) { log.bytes == [1] })
    }
  }

  // S57, S165, A8
  @Test(
    "an open that nobody answers fails with ETIMEDOUT after the limit, by property or by option",
    arguments: [true, false])
  func connectTimeout(byProperty: Bool) throws {
    let hole = try BlackHole()
    let base = try EventBase.startThread()
    var options = ConnectionOptions()
    if !byProperty { options.connectTimeout = .milliseconds(200) }
    let pair = StreamPair(host: "127.0.0.1", port: hole.port, options: options)
    if byProperty { #expect(pair.input.setProperty(.connectTimeout, to: .milliseconds(200))) }
    #expect(pair.input.property(.connectTimeout) == .milliseconds(200))
    let log = PairLog()
    log.watch(pair, on: base)
    let begin = monotonicSeconds()
    pair.open()
    #expect(!pair.input.setProperty(.connectTimeout, to: .seconds(1)), "it is too late for that")
    #expect(log.hears(.errorOccurred, .input) && log.hears(.errorOccurred, .output))
    // libevent counts by a clock whose ticks are up to 10 ms long.
    #expect(monotonicSeconds() - begin >= 0.19)
    pass(base)
    #expect(log.events(.input) == [.errorOccurred] && log.events(.output) == [.errorOccurred])
    #expect(pair.input.error?.domain == .posix && pair.input.error?.code == ETIMEDOUT)
  }

  // S46, S49, F2
  @Test("what is written while opening is sent, and a blocking read waits for the outcome, telling no client")
  func whileOpening() throws {
    let hole = try BlackHole()
    let pair = StreamPair(host: "127.0.0.1", port: hole.port)
    let log = PairLog()
    // The client's base is one that nobody runs.
    let base = try EventBase()
    log.watch(pair.input, on: base)
    pair.open()
    #expect(try pair.output.write([1, 2]) == 2)
    #expect(try pair.input.read(upTo: 1) == nil)
    #expect(!pair.input.waitUntilReady(timeout: .milliseconds(20)))
    let serving = onThread {
      _ = hole.open()
      guard let peer = hole.open() else { return }
      if peer.receive(2) == [1, 2] { peer.send([3]) }
      _ = peer.receiveEnd()
    }
    #expect(pair.input.waitUntilReady(timeout: .seconds(10)))
    #expect(try read(1, from: pair.input) == [3])
    #expect(log.all.isEmpty)
    pair.close()
    #expect(serving.wait(seconds: 10))
  }

  // S46
  @Test("a blocking call on a stream whose opening fails ends, and the read throws the reason")
  func failsWhileWaiting() throws {
    let hole = try BlackHole()
    let pair = StreamPair(host: "127.0.0.1", port: hole.port)
    pair.input.setProperty(.connectTimeout, to: .milliseconds(100))
    pair.open()
    #expect(pair.input.waitUntilReady(timeout: .seconds(10)))
    #expect(throws: StreamError.self) { _ = try pair.input.read(upTo: 1) }
    #expect(throws: StreamError.self) { try pair.output.write([1]) }
    #expect(pair.input.error?.code == ETIMEDOUT)
  }

  // S57, S134, O1
  @Test("no time limit is set by default")
  func noLimits() throws {
    let pair = StreamPair(host: "127.0.0.1", port: 1)
    #expect(pair.input.property(.connectTimeout) == nil)
    #expect(pair.input.property(.readTimeout) == nil)
    #expect(pair.output.property(.writeTimeout) == nil)
    #expect(pair.output.property(.idleTimeout) == nil)
    #expect(pair.output.property(.lingerTimeout) == .seconds(30))
  }
}
