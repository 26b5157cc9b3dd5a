// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Time limits on real sockets", .timeLimit(.minutes(2)))
struct TimeLimitTests {
  /// Waits for the failure of a pair.
  /// - Returns: How long that took, in seconds.
  private func failure(of log: PairLog, since begin: Double) -> Double? {
    guard log.hears(.errorOccurred, .input), log.hears(.errorOccurred, .output) else { return nil }
    return monotonicSeconds() - begin
  }

  // H1, S134, S165
  @Test("a peer that sends nothing for the read limit fails both halves with ETIMEDOUT, once")
  func readLimit() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base)
    let begin = monotonicSeconds()
    #expect(link.pair.input.setProperty(.readTimeout, to: .milliseconds(200)))
    #expect(link.pair.input.property(.readTimeout) == .milliseconds(200))
    let time = try #require(failure(of: log, since: begin))
    #expect(time >= 0.2)
    #expect(link.pair.input.error == link.pair.output.error)
    #expect(link.pair.input.error?.domain == .posix && link.pair.input.error?.code == ETIMEDOUT)
    pass(base)
    #expect(log.events(.input).filter { $0 == .errorOccurred }.count == 1)
  }

  // H1, H6
  @Test("each arrival starts the read limit anew, and writes do not")
  func readLimitProgress() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    let output = link.pair.output
    log.watch(link.pair, on: base)
    link.pair.input.setProperty(.readTimeout, to: .milliseconds(400))
    let writing = base.schedule(after: .milliseconds(50), repeating: true) { _ = try? output.write([1]) }
    defer { writing.cancel() }
    let sent = Shared(0.0)
    let sending = onThread { [peer = link.peer] in
      // Longer in all than the limit, each pause shorter.
      for _ in 0..<8 {
        usleep(100_000)
        peer.send([1])
      }
      sent.with { $0 = monotonicSeconds() }
    }
    #expect(sending.wait(seconds: 5))
    #expect(link.pair.input.status == .open)
    let time = try #require(failure(of: log, since: sent.value))
    #expect(time >= 0.35)
    #expect(log.bytes.count == 8)
  }

  // H1, H6, report 13
  @Test("a peer that takes nothing for the write limit fails both halves, although it sends")
  func writeLimit() throws {
    let link = try TCPLink.narrow()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base)
    link.pair.output.setProperty(.writeTimeout, to: .milliseconds(300))
    let begin = monotonicSeconds()
    try link.pair.output.write(moving: StreamBuffer(pattern(8_000_000)))
    let stop = Gate()
    let sending = onThread { [peer = link.peer] in
      while !stop.wait(seconds: 0.03), peer.send([1]) == 0 {}
    }
    let time = try #require(failure(of: log, since: begin))
    stop.open()
    #expect(sending.wait(seconds: 5))
    #expect(time >= 0.3)
    #expect(link.pair.output.error?.code == ETIMEDOUT)
  }

  // H1
  @Test("without anything queued the write limit does not count")
  func writeLimitIdle() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base)
    link.pair.output.setProperty(.writeTimeout, to: .milliseconds(50))
    #expect(try link.pair.output.write([1]) == 1)
    let later = Gate()
    base.schedule(after: .milliseconds(300)) { later.open() }
    #expect(later.wait(seconds: 5))
    #expect(link.pair.output.status == .open && !log.all.contains(.errorOccurred))
  }

  // H1
  @Test("the idle limit counts from the last byte in either direction", arguments: [true, false])
  func idleLimit(writes: Bool) throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base)
    link.pair.input.setProperty(.idleTimeout, to: .milliseconds(300))
    let last = Shared(0.0)
    let moving = onThread { [pair = link.pair, peer = link.peer] in
      for _ in 0..<6 {
        usleep(100_000)
        last.with { $0 = monotonicSeconds() }
        if writes { _ = try? pair.output.write([1]) } else { peer.send([1]) }
      }
    }
    #expect(moving.wait(seconds: 5))
    #expect(link.pair.input.status == .open)
    let time = try #require(failure(of: log, since: last.value))
    #expect(time >= 0.29)
    #expect(link.pair.output.error?.code == ETIMEDOUT)
  }

  // H1
  @Test("a limit that is taken away in time does not fire, and none fires after close")
  func cancelled() throws {
    let (first, second) = (try TCPLink(), try TCPLink())
    let base = try EventBase.startThread()
    let log = PairLog()
    for link in [first, second] {
      log.watch(link.pair, on: base)
      link.pair.input.setProperty(.readTimeout, to: .milliseconds(100))
    }
    #expect(first.pair.input.setProperty(.readTimeout, to: nil))
    #expect(first.pair.input.property(.readTimeout) == nil)
    second.pair.close()
    let later = Gate()
    base.schedule(after: .milliseconds(300)) { later.open() }
    #expect(later.wait(seconds: 5))
    #expect(!log.all.contains(.errorOccurred))
    #expect(first.pair.input.status == .open && second.pair.input.status == .closed)
    #expect(!first.pair.input.setProperty(.readTimeout, to: .zero))
    #expect(!first.pair.input.setProperty(.idleTimeout, to: .milliseconds(-1)))
  }

  // H1: a client that is told of bytes and takes its time is not a slow peer.
  @Test("the read limit does not count while bytes wait for the client")
  func slowClient() throws {
    let link = try TCPLink()
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(link.pair, on: base, reading: false)
    link.peer.send([1])
    #expect(log.hears(.hasBytesAvailable, .input))
    link.pair.input.setProperty(.readTimeout, to: .milliseconds(100))
    let later = Gate()
    base.schedule(after: .milliseconds(300)) { later.open() }
    #expect(later.wait(seconds: 5))
    #expect(link.pair.input.status == .open)
    #expect(try link.pair.input.read(upTo: 1)?.count == 1)
    #expect(log.hears(.errorOccurred, .input))
  }
}
