// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// When a pair is over, and who is told.
import Glibc
import SocketStreams
import Testing

@Suite("The end of a pair", .timeLimit(.minutes(2)))
struct PairEndTests {
  private let ends = Shared(0)

  private func watch(_ pair: StreamPair) {
    pair.whenOver { [ends] in ends.with { $0 += 1 } }
  }

  @Test("a pair is over when both halves are closed, and that is told once", arguments: [true, false])
  func closed(isScheduled: Bool) throws {
    let base = try EventBase.startThread()
    let (pair, peer) = try StreamPair.connected()
    if isScheduled { pair.schedule(on: base) }
    watch(pair)
    pair.open()
    pair.input.close()
    pass(base)
    #expect(ends.value == 0, "one half is open")
    pair.output.close()
    #expect(eventually(within: 5) { ends.value == 1 })
    pair.abort()
    pass(base)
    #expect(ends.value == 1)
    withExtendedLifetime(peer) {}
  }

  @Test("each who asks is told; who asks afterwards is told at once")
  func several() throws {
    let (pair, _) = try StreamPair.connected()
    watch(pair)
    watch(pair)
    pair.open()
    pair.close()
    #expect(ends.value == 2)
    watch(pair)
    #expect(ends.value == 3)
  }

  @Test("a pair that is dropped is over, opened or not, and however it was to be connected")
  func dropped() throws {
    do {
      let (pair, peer) = try StreamPair.connected()
      watch(pair)
      watch(peer)
      peer.open()
    }
    #expect(ends.value == 2)
    do { watch(StreamPair(host: "127.0.0.1", port: 7)) }
    do { watch(StreamPair.bound()) }
    #expect(ends.value == 4)
  }

  @Test("an attempt to connect that fails ends with its pair")
  func failed() throws {
    let port = try RefusedPort()
    let pair = StreamPair(host: "127.0.0.1", port: port.port)
    watch(pair)
    pair.open()
    #expect(eventually(within: 5) { pair.input.status == .error })
    #expect(ends.value == 0, "the owner has it still")
    pair.close()
    #expect(eventually(within: 5) { ends.value == 1 })
  }

  @Test("an aborted pair is over, opened or not; then its socket is closed and no lock is held")
  func aborted() throws {
    let (pair, other) = try StreamPair.connected()
    let socket = try #require(SocketIdentity(pair.input.property(.socketNativeHandle)!))
    let isClosed = Shared(false)
    pair.open()
    pair.whenOver { [ends] in
      isClosed.with { $0 = !socket.isOpen }
      // Takes the pair's lock.
      if pair.output.status == .closed { ends.with { $0 += 1 } }
    }
    pair.abort()
    #expect(ends.value == 1 && isClosed.value)
    watch(other)
    other.abort()
    #expect(ends.value == 2)
  }

  @Test("a pair that was closed is over only when what it had accepted is out")
  func unsent() throws {
    let (pair, peer) = try StreamPair.connected()
    pair.open()
    peer.open()
    let count = try fill(pair.output)
    #expect(pair.output.property(.queuedByteCount)! > 0)
    watch(pair)
    pair.close()
    #expect(ends.value == 0)
    #expect(try readToEnd(peer.input)?.count == count)
    #expect(eventually(within: 5) { ends.value == 1 })
  }

  @Test("a thread that waits for a pair still uses it: the pair is over when it has gone")
  func waiting() throws {
    let (pair, peer) = try StreamPair.connected()
    pair.open()
    watch(pair)
    let (input, begun) = (pair.input, Gate())
    let gone = onThread {
      begun.open()
      _ = input.waitUntilReady()
    }
    #expect(begun.wait(seconds: 5))
    pair.close()
    #expect(gone.wait(seconds: 5))
    #expect(eventually(within: 5) { ends.value == 1 })
    withExtendedLifetime(peer) {}
  }
}
