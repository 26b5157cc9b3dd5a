// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Faults that were found by reading the code or by trying to break it, each named after what it showed.
import CLibEvent
import Glibc
import SocketStreams
import Testing

@Suite("Faults found by reading and by breaking", .serialized, .timeLimit(.minutes(1)))
struct FoundRegressions {
  // S131, D17
  @Test("a client that uses up nothing of what it is lent is lent more when more arrives, and is told of it")
  func lendingGrows() throws {
    let base = try EventBase.startThread()
    let (pair, peer) = StreamPair.scripted()
    let lent = Shared<[Int]>([])
    pair.input.setClient([.hasBytesAvailable]) { stream, _ in
      stream.withAvailableBytes { bytes in
        lent.with { $0.append(bytes.byteCount) }
        return bytes.byteCount < 5 ? 0 : bytes.byteCount
      }
    }
    pair.input.schedule(on: base)
    pair.input.open()
    peer.send([1, 2])
    #expect(eventually(within: 5) { lent.value == [2] })
    peer.send([3, 4, 5])
    #expect(eventually(within: 5) { lent.value == [2, 5] })
    #expect(!pair.input.hasBytesAvailable)
  }

  // S36, S126, S173
  @Test("a write limit that passes reaches the read half behind bytes that nobody had read")
  func limitBehindBytes() throws {
    let base = try EventBase.startThread()
    let (near, far) = try StreamPair.connected()
    near.open()
    far.open()
    try far.output.write([7])
    near.output.setProperty(.writeTimeout, to: .milliseconds(50))
    near.output.schedule(on: base)
    try near.output.write(moving: StreamBuffer([UInt8](repeating: 0, count: 8_000_000)))
    #expect(eventually(within: 5) { near.output.status == .error })
    var byte: [UInt8] = [0]
    var memory = byte.mutableSpan
    var span = memory.mutableBytes
    #expect(try near.input.read(into: &span) == 1, "the byte comes first")
    #expect(near.input.status == .error)
    #expect(near.input.error?.code == ETIMEDOUT)
  }

  // G1, S161
  @Test(
    "abort after close of a writer with a queue cuts the connection",
    arguments: [ConnectionOptions.Transport.direct, .bufferevent])
  func abortAfterClose(_ transport: ConnectionOptions.Transport) throws {
    let listener = try RawListener()
    var options = ConnectionOptions()
    options.transport = transport
    let pair = StreamPair(host: "127.0.0.1", port: listener.port, options: options)
    pair.open()
    let peer = try #require(listener.accept())
    #expect(pair.output.waitUntilReady(timeout: .seconds(5)))
    try pair.output.write(moving: StreamBuffer([UInt8](repeating: 0, count: 16_000_000)))
    pair.close()
    pair.abort()
    var poller = pollfd(fd: peer.fd, events: 0, revents: 0)
    #expect(poll(&poller, 1, 5_000) == 1 && poller.revents & Int16(POLLHUP | POLLERR) != 0)
  }

  // Rule 10 of the architecture
  @Test("the linger limit ends an unscheduled pair that was closed with bytes queued", arguments: 0..<4)
  func unscheduledLinger(_ round: Int) throws {
    let listener = try RawListener()
    let pair = StreamPair(host: "127.0.0.1", port: listener.port)
    pair.input.setProperty(.lingerTimeout, to: .milliseconds(1))
    pair.open()
    let peer = try #require(listener.accept())
    #expect(pair.output.waitUntilReady(timeout: .seconds(5)))
    try pair.output.write(moving: StreamBuffer([UInt8](repeating: 1, count: 8_000_000)))
    pair.close()
    #expect(eventually(within: 5) { pair.output.property(.socketNativeHandle) == nil })
    withExtendedLifetime(peer) {}
  }

  // S21, S159
  @Test("a pair that is refused a socket because another has it does not close it")
  func refusedPairLeavesTheSocket() throws {
    let (near, far) = try StreamPair.connected()
    far.open()
    near.open()
    let fd = try #require(near.input.property(.socketNativeHandle))
    let first = StreamPair(nativeSocket: fd)
    #expect(first.open())
    do {
      let second = StreamPair(nativeSocket: fd, closesWhenDone: true)
      #expect(!second.open())
      #expect(second.input.error?.code == EBUSY)
      second.close()
    }
    #expect(fcntl(fd, F_GETFD) >= 0)
    first.close()
  }

  // S144, L4
  @Test("a hard limit below the ordinary one is where canAcceptBytes ends")
  func hardLimitFirst() throws {
    let (pair, peer) = StreamPair.scripted()
    pair.output.setProperty(.outputLimit, to: 100)
    pair.output.setProperty(.outputHardLimit, to: 10)
    peer.accept(0)
    pair.output.open()
    #expect(try pair.output.write([UInt8](repeating: 0, count: 50)) == 10)
    #expect(!pair.output.canAcceptBytes)
    #expect(try pair.output.write([1]) == nil)
  }

  // C7
  @Test("a listener that is scheduled on a base that has ended is scheduled nowhere, and can be elsewhere")
  func listenerOnAnEndedBase() throws {
    // The ended base is seen to on another thread, which must not touch what the other base has.
    for _ in 0..<500 {
      let ended = try EventBase.startThread()
      ended.stop()
      ended.join()
      let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
      listener.schedule(on: ended) { _, _ in }
      let base = try EventBase.startThread()
      let accepted = Signal()
      listener.schedule(on: base) { _, _ in accepted.raise() }
      let pair = StreamPair(address: listener.localAddress)
      pair.open()
      #expect(accepted.wait(seconds: 5))
      listener.close()
    }
  }

  // S119
  @Test("a stream on a base that ends before it ever ran can be scheduled elsewhere")
  func baseThatNeverRan() throws {
    let (pair, peer) = StreamPair.scripted()
    let told = Signal()
    pair.input.setClient([.hasBytesAvailable]) { _, _ in told.raise() }
    let idle = try EventBase()
    pair.input.schedule(on: idle)
    pair.input.open()
    idle.invalidate()
    peer.send([1])
    let base = try EventBase.startThread()
    pair.input.schedule(on: base)
    #expect(told.wait(seconds: 5))
  }

  // H1
  @Test("a limit that is set beside a longer one is kept at its own time")
  func shorterLimit() throws {
    let base = try EventBase.startThread()
    let (near, far) = try StreamPair.connected()
    far.open()
    near.input.setProperty(.idleTimeout, to: .seconds(3_600))
    let failed = Signal()
    near.input.setClient([.errorOccurred]) { _, _ in failed.raise() }
    near.input.schedule(on: base)
    near.input.open()
    base.sync {}
    near.input.setProperty(.readTimeout, to: .milliseconds(20))
    #expect(failed.wait(seconds: 5))
    #expect(near.input.error?.code == ETIMEDOUT)
  }

  // C9, N1
  @Test("with no descriptor left, making a base throws and the process lives")
  func noDescriptorForABase() async {
    await #expect(processExitsWith: .success) {
      var limit = rlimit(rlim_cur: 64, rlim_max: 64)
      guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { exit(1) }
      var made: [Int32] = []
      while case let fd = dup(0), fd >= 0 { made.append(fd) }
      for free in 0...3 {
        do {
          _ = try EventBase()
          exit(2)
        } catch {
          guard (error as? StreamError)?.code == EMFILE else { exit(3) }
        }
        if free < 3 { close(made.removeLast()) }
      }
      close(made.removeLast())
      close(made.removeLast())
      guard (try? EventBase()) != nil else { exit(4) }
    }
  }

  /// Closes its stream when it goes, and holds the last reference to it.
  private final class LastOwner: Sendable {
    private let stream: ReadStream
    private let gone: Signal

    init(_ stream: ReadStream, _ gone: Signal) {
      self.stream = stream
      self.gone = gone
    }

    deinit {
      stream.close()
      gone.raise()
    }
  }

  // S64, S76
  @Test("the end of a client that was replaced in its own callback closes and drops the stream without harm")
  func clientsEndEndsStream() throws {
    let base = try EventBase.startThread()
    let gone = Signal()
    for _ in 0..<50 {
      let peer = try pairWhoseClientOwnsIt(on: base, gone)
      try peer.output.write([1])
      #expect(gone.wait(seconds: 10), "the client's end was not reached")
      base.sync {}
      #expect(try readToEnd(peer.input) == [])
      peer.close()
    }
    base.stop()
    base.join()
  }

  private func pairWhoseClientOwnsIt(on base: EventBase, _ gone: Signal) throws -> StreamPair {
    let (near, far) = try StreamPair.connected()
    far.open()
    let owner = LastOwner(near.input, gone)
    near.input.setClient(.hasBytesAvailable) { stream, _ in
      stream.removeClient()
      withExtendedLifetime(owner) {}
    }
    near.input.schedule(on: base)
    near.input.open()
    return far
  }

  // Rule 7 of the architecture
  @Test("a host's base whose use ends while its buffer is lent is not touched when the loan ends")
  func lenderEnds() throws {
    let host = HostProgram()
    let adopted = Shared<EventBase?>(try EventBase(adopting: host.base))
    let (near, far) = try StreamPair.connected()
    far.open()
    let lent = Shared(0)
    near.input.setClient(.hasBytesAvailable) { stream, _ in
      stream.withAvailableBytes { bytes in
        lent.with { $0 += bytes.byteCount }
        adopted.value?.invalidate()
        adopted.with { $0 = nil }
        return bytes.byteCount
      }
    }
    try near.schedule(on: #require(adopted.value))
    near.open()
    try far.output.write([1, 2, 3])
    for _ in 0..<10 { event_base_loop(host.base, EVLOOP_NONBLOCK) }
    #expect(lent.value == 3)
    #expect(adopted.value == nil)
    near.close()
    host.free()
  }

  // S110, S111
  @Test(
    "a half that moves to and fro between two busy bases is told all that is due", arguments: [false, true])
  func movesToAndFro(inMemory: Bool) throws {
    let (first, second) = (try EventBase.startThread(), try EventBase.startThread())
    let (near, far) =
      try inMemory ? (StreamPair.bound(), nil) : StreamPair.connected() as (StreamPair, StreamPair?)
    let (firstIsBusy, firstGoesOn, secondGoesOn) = (Signal(), Signal(), Signal())
    let calls = Shared(0)
    let told = Signal()
    near.open()
    far?.open()
    near.input.setClient(.hasBytesAvailable) { stream, _ in
      if calls.with({
        $0 += 1; return $0
      }) == 1 {
        // The first base comes to what it was asked, while the client is being called on the second.
        firstGoesOn.raise()
        if second.isCurrent { first.sync {} }
      }
      _ = stream.withAvailableBytes { _ in 1 }
      told.raise()
    }
    second.execute { _ = secondGoesOn.wait(seconds: 20) }
    near.input.schedule(on: second)
    near.input.schedule(on: first)
    for _ in 0..<3 { first.sync {} }
    first.execute {
      firstIsBusy.raise()
      _ = firstGoesOn.wait(seconds: 20)
    }
    #expect(firstIsBusy.wait(seconds: 20))
    try (far ?? near).output.write([1, 2, 3, 4, 5])
    near.input.schedule(on: second)
    near.input.setProperty(.inputLimit, to: 1_000)
    secondGoesOn.raise()
    second.sync {}
    firstGoesOn.raise()
    for number in 1...5 { #expect(told.wait(seconds: 10), "nothing was told after \(number - 1) calls") }
    near.close()
    far?.close()
    for base in [first, second] {
      base.stop()
      base.join()
    }
  }

  // S157
  @Test("what the peer of an aborted writer reads is what was written, up to where it was cut")
  func abortLeavesNoHole() throws {
    for round in 0..<100 {
      let (near, far) = try StreamPair.connected()
      near.open()
      far.open()
      let start = Gate()
      let writing = onThread {
        start.open()
        var next: UInt32 = 0
        while true {
          let word = (0..<4).map { UInt8(truncatingIfNeeded: next >> (8 * $0)) }
          guard let count = try? near.output.write(word) else {
            if near.output.status == .open { continue }
            return
          }
          if count < 4 { return }
          next += 1
        }
      }
      #expect(start.wait(seconds: 10))
      // Until something is queued, so that there is something to drop.
      #expect(eventually(within: 10) { near.output.property(.queuedByteCount)! > 0 })
      let reading = Shared<[UInt8]>([])
      let reader = onThread {
        while far.input.waitUntilReady(timeout: .seconds(10)) {
          guard let piece = try? far.input.read(upTo: 65_536), piece.count > 0 else { return }
          piece.withBytes { span in span.withUnsafeBytes { bytes in reading.with { $0 += bytes } } }
        }
      }
      near.abort()
      #expect(writing.wait(seconds: 20) && reader.wait(seconds: 20))
      let words = reading.value
      let hole = (0..<words.count / 4).first { place in
        let word = (0..<4).reduce(UInt32(0)) { $0 | UInt32(words[place * 4 + $1]) << (8 * UInt32($1)) }
        return word != UInt32(place)
      }
      #expect(hole == nil, "round \(round)")
    }
  }

  // O1
  @Test("bytes that were lent, not used up, and read later are counted once")
  func countedOnce() throws {
    let (near, far) = try StreamPair.connected()
    near.open()
    far.open()
    _ = try far.output.write(pattern(10))
    #expect(near.input.waitUntilReady(timeout: .seconds(5)))
    near.input.withAvailableBytes { _ in 4 }
    #expect(near.input.property(.bytesRead) == 10)
    #expect(try readSome(near.input, 100)?.count == 6)
    #expect(near.input.property(.bytesRead) == 10)
  }
}
