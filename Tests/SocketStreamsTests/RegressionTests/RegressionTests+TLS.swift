// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What was found by trying to break secured pairs, with an engine that secures nothing.
import Glibc
import SocketStreams
import Testing

@Suite("Found by trying: secured pairs", .timeLimit(.minutes(2)))
struct SecuredRegressions {
  private let base: EventBase

  init() throws { base = try EventBase.startThread(named: "test") }

  /// The processor time of the whole process, in seconds.
  private func processorTime() -> Double {
    var now = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now)
    return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
  }

  enum Asker: String, CaseIterable, Codable { case reader, writer, both, waiting, moved }

  // J10. Level-triggered events came again and again, as nobody may read during the question.
  @Test("bytes that come while the owner is asked cost no processor time", arguments: Asker.allCases)
  func quietApproval(asker: Asker) async {
    await #expect(processExitsWith: .success) { [asker] in
      try SecuredRegressions().askQuietly(asker)
    }
  }

  fileprivate func askQuietly(_ asker: Asker) throws {
    let (isAsked, answer) = (Gate(), Gate())
    let (mine, other) = try StreamPair.connected()
    try mine.secure(
      with: ToySettings(
        handshakeTimeout: nil,
        approval: {
          isAsked.open()
          return answer.wait(seconds: 60)
        }))
    if asker == .reader || asker == .both || asker == .moved { mine.input.schedule(on: base) }
    if asker == .writer || asker == .both { mine.output.schedule(on: base) }
    mine.open()
    if asker == .moved { try mine.output.write(moving: StreamBuffer([1])) }
    if asker != .moved { _ = try mine.output.write([1]) }
    var waiter: Gate?
    if asker == .waiting {
      waiter = onThread { _ = mine.output.waitUntilReady(timeout: .seconds(60)) }
    }
    try other.secure(with: ToySettings())
    other.open()
    #expect(other.output.waitUntilReady(timeout: .seconds(10)))
    _ = try other.output.write(pattern(1_000))
    #expect(isAsked.wait(seconds: 10))
    let before = processorTime()
    // Nothing is to happen in this time.
    #expect(!(waiter ?? Gate()).wait(seconds: 0.5))
    #expect(processorTime() - before < 0.25)
    answer.open()
    #expect(eventually { mine.output.canAcceptBytes && mine.input.hasBytesAvailable })
    #expect(waiter?.wait(seconds: 10) ?? true)
    mine.close()
  }

  // J15, G11. What the linger limit drops is not followed by a word that all is well.
  @Test("bytes that are dropped are not followed by an end in order")
  func droppedBytes() throws {
    let (mine, other) = try StreamPair.connected()
    try mine.secure(with: ToySettings())
    mine.output.setProperty(.lingerTimeout, to: .milliseconds(20))
    mine.schedule(on: base)
    mine.open()
    try mine.output.write(moving: StreamBuffer(pattern(1_000)))
    mine.output.close()
    #expect(eventually { mine.output.property(.queuedByteCount) == 0 })
    try other.secure(with: ToySettings())
    other.open()
    #expect(other.output.waitUntilReady(timeout: .seconds(10)))
    mine.input.close()
    #expect(other.input.waitUntilReady(timeout: .seconds(10)))
    #expect(throws: StreamError.tls(.closedWithoutNotice, "read")) { try readSome(other.input, 10) }
  }

  // J15, S162
  @Test(
    "a pair that is closed while it connects delivers what was written, and says the end",
    arguments: [true, false])
  func closedWhileConnecting(isWholePair: Bool) throws {
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let accepted = Shared<StreamPair?>(nil)
    listener.schedule(on: base) { pair, _ in
      try? pair.secure(with: ToySettings())
      pair.open()
      accepted.with { $0 = pair }
    }
    defer { listener.close() }
    for _ in 0..<20 {
      accepted.with { $0 = nil }
      let pair = StreamPair(address: listener.localAddress)
      try pair.secure(with: ToySettings())
      pair.open()
      try pair.output.write(moving: StreamBuffer(pattern(1_000)))
      if isWholePair { pair.close() } else { pair.output.close() }
      #expect(eventually { accepted.value != nil })
      let other = try #require(accepted.value)
      #expect(try readToEnd(other.input) == pattern(1_000))
      other.close()
    }
  }

  // Closed with bytes queued, a pair goes on connecting; cut, it was over, and the socket stayed that was connected then.
  @Test("a pair that is closed and then cut while it connects leaves no socket")
  func cutWhileConnecting() async {
    await #expect(processExitsWith: .success) {
      let hole = try BlackHole()
      let before = openSockets()
      let isOver = Gate()
      let pair = StreamPair(address: SocketAddress(ip: "127.0.0.1", port: hole.port)!)
      pair.whenOver { isOver.open() }
      pair.open()
      try pair.output.write(moving: StreamBuffer(pattern(1_000)))
      pair.close()
      pair.abort()
      #expect(isOver.wait(seconds: 30))
      _ = hole.open()
      #expect(eventually(within: 10) { openSockets().subtracting(before).isEmpty })
      withExtendedLifetime(pair) {}
    }
  }

  // A peer that asks and never reads the answers.
  @Test("answers to a peer that does not read them are not queued without end")
  func floodOfQuestions() throws {
    let (mine, fd) = try pairAndDescriptor()
    let raw = RawSocket(owning: fd)
    try mine.secure(with: ToySettings())
    mine.schedule(on: base)
    mine.open()
    var time = timeval(tv_sec: 1, tv_usec: 0)
    _ = setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    raw.send(Array("TOYHELLO".utf8))
    let questions = (0..<60_000).map { $0 % 3 == 0 ? UInt8(3) : 0 }
    for _ in 0..<100 where mine.input.status == .open { raw.send(questions) }
    #expect((mine.output.property(.queuedByteCount) ?? 0) < 500_000)
    #expect(eventually { mine.input.status == .error && mine.output.status == .error })
    mine.close()
  }

  // J13
  @Test("an open pair that has ended in one direction cannot be secured: nobody could agree any more")
  func refusedHalves() throws {
    let refusal = StreamError.misuse(.notOpen, "start TLS")
    let (mine, other) = try StreamPair.connected()
    mine.open()
    other.open()
    mine.output.close()
    #expect(throws: refusal) { try mine.secure(with: ToySettings()) }
    #expect(try readToEnd(other.input) == [])
    #expect(throws: refusal) { try other.secure(with: ToySettings()) }
    #expect(!other.output.setProperty(StreamProperty<ToySettings>(.securitySettings), to: ToySettings()))
    // It goes on in the clear.
    #expect(try other.output.write([5]) == 1)
    #expect(mine.input.waitUntilReady(timeout: .seconds(5)))
    #expect(try readSome(mine.input, 1) == [5])
  }

  @Test("an open pair whose read stream is closed is secured, to write only")
  func writesOnly() throws {
    let (mine, other) = try StreamPair.connected()
    mine.open()
    mine.input.close()
    try mine.secure(with: ToySettings())
    try other.secure(with: ToySettings())
    other.open()
    #expect(mine.output.waitUntilReady(timeout: .seconds(5)))
    #expect(try mine.output.write([5]) == 1)
    #expect(other.input.waitUntilReady(timeout: .seconds(5)))
    #expect(try readSome(other.input, 1) == [5])
  }

  private func pairAndDescriptor() throws -> (StreamPair, Int32) {
    var ends: [Int32] = [0, 0]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    return (StreamPair(nativeSocket: ends[0], closesWhenDone: true), ends[1])
  }
}
