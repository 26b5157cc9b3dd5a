// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Writing and its events, over every transport.
import Glibc
import SocketStreams
import Testing

@Suite("Writing, over every transport")
struct EveryTransportWritingTests {
  // S86, S87, F3
  @Test(
    "room is announced once after opening, and not again until the client writes",
    arguments: TransportUnderTest.allCases)
  func oneShot(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startWriting()
    test.recorder.expect([.openCompleted, .canAcceptBytes], of: .write, settling: test.base)
    // The commonest mistake in the field is to wait for another event here. A write works without one.
    #expect(try test.output.write([1, 2, 3]) == 3)
    test.recorder.expect([.openCompleted, .canAcceptBytes, .canAcceptBytes], of: .write, settling: test.base)
    #expect(test.peer.receive(3) == [1, 2, 3])
  }

  // S88, S137
  @Test(
    "each write that leaves room is followed by the event, on a later pass",
    arguments: TransportUnderTest.allCases)
  func again(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    let rounds = Shared(0)
    let isInside = Shared(false)
    test.startWriting { stream, event in
      #expect(!isInside.value)
      isInside.with { $0 = true }
      if event == .canAcceptBytes, rounds.value < 5 {
        rounds.with { $0 += 1 }
        #expect((try? stream.write([UInt8(rounds.value)])) == 1)
      }
      isInside.with { $0 = false }
    }
    test.recorder.expect(.canAcceptBytes, of: .write, times: 6)
    #expect(test.peer.receive(5) == [1, 2, 3, 4, 5])
    test.settle()
    #expect(test.recorder.count(.canAcceptBytes, of: .write) == 6)
  }

  // S89, S142, F14
  @Test(
    "an empty write, or rearm, asks for the event once more and does nothing else",
    arguments: TransportUnderTest.allCases, [true, false])
  func rearm(_ kind: TransportUnderTest, _ byWriting: Bool) throws {
    let test = try Fixture(kind)
    test.startWriting()
    test.recorder.expect([.openCompleted, .canAcceptBytes], of: .write, settling: test.base)
    if byWriting {
      #expect(try test.output.write([]) == 0)
    } else {
      test.output.rearm()
    }
    test.recorder.expect([.openCompleted, .canAcceptBytes, .canAcceptBytes], of: .write, settling: test.base)
    #expect(test.output.status == .open && test.output.property(.bytesWritten) == 0)
  }

  // S88, S139, S144, S149, I10, L1, L3
  @Test(
    "a full stream refuses, says so, and announces room when the peer takes bytes",
    arguments: TransportUnderTest.allCases)
  func full(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startWriting()
    test.recorder.expect(.canAcceptBytes, of: .write)
    let taken = try test.fill()
    #expect(try test.output.write([1]) == nil)
    #expect(!test.output.canAcceptBytes && test.output.status == .open)
    test.settle()
    test.recorder.forget()
    test.settle()
    #expect(test.recorder.entries == [], "no room, no event")
    let arrived = test.peer.receive(taken.count)
    #expect(arrived.count == taken.count && arrived == taken)
    test.recorder.expect([.canAcceptBytes], of: .write, settling: test.base)
    #expect(test.output.canAcceptBytes)
    #expect(try test.output.write([1]) == 1)
  }

  // S137, S148, F1, F13, D16
  @Test(
    "what is written arrives whole and in order, whatever the pieces", arguments: TransportUnderTest.allCases,
    [1, 113, 50_000])
  func order(_ kind: TransportUnderTest, _ size: Int) throws {
    let test = try Fixture(kind)
    test.open(test.output)
    let sent = pattern(size == 1 ? 300 : 300_000)
    let reader = Shared<[UInt8]>([])
    let peer = test.peer
    let done = onThread { [count = sent.count] in
      let bytes = peer.receive(count)
      reader.with { $0 = bytes }
    }
    var rest = sent[...]
    while !rest.isEmpty, test.output.waitUntilReady(timeout: .seconds(5)) {
      let count = try test.output.write(Array(rest.prefix(size)))
      #expect(count != 0, "never 0 for a positive length")
      rest = rest.dropFirst(count ?? 0)
    }
    #expect(rest.isEmpty && done.wait(seconds: 10))
    #expect(reader.value.count == sent.count && reader.value == sent)
    #expect(test.output.property(.bytesWritten) == UInt64(sent.count))
  }

  // F13
  @Test(
    "writes of several threads are kept whole and each thread's in order",
    arguments: TransportUnderTest.allCases)
  func threads(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.open(test.output)
    let output = test.output
    let gates = (0..<3).map { writer in
      onThread {
        for number in 0..<50 {
          // Two bytes: who, and which.
          guard (try? output.write([UInt8(writer), UInt8(number)])) == 2 else { return }
        }
      }
    }
    for gate in gates { #expect(gate.wait(seconds: 5)) }
    let bytes = test.peer.receive(300)
    #expect(bytes.count == 300)
    var next = [UInt8](repeating: 0, count: 3)
    for pair in stride(from: 0, to: bytes.count - 1, by: 2) {
      let writer = Int(bytes[pair])
      #expect(writer < 3 && next[min(writer, 2)] == bytes[pair + 1])
      next[min(writer, 2)] += 1
    }
  }

  // F8
  @Test(
    "flush waits until all is with the kernel, and not for the peer", arguments: TransportUnderTest.allCases)
  func flush(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.open(test.output)
    #expect(try test.output.write(pattern(1_000)) == 1_000)
    #expect(try test.output.flush(timeout: .seconds(5)))
    #expect(test.output.property(.queuedByteCount) == 0)
    #expect(test.peer.receive(1_000) == pattern(1_000))
  }

  // S149, L3, O1: over what has a queue of its own.
  @Test("at most the limit is queued", arguments: TransportUnderTest.sockets)
  func limit(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.output.setProperty(.outputLimit, to: 10_000)
    test.open(test.output)
    _ = try test.fill()
    #expect(test.output.property(.queuedByteCount)! <= (kind == .secured ? 10_003 : 10_000))
    #expect(!test.output.canAcceptBytes)
    #expect(try test.output.flush(timeout: .milliseconds(1)) == false)
  }

  // L4, F11
  @Test(
    "a moved buffer passes the limit, and fails at the hard limit with the bytes gone",
    arguments: TransportUnderTest.sockets)
  func moved(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.output.setProperty(.outputHardLimit, to: 2_000_000)
    test.open(test.output)
    let bytes = pattern(1_000_000)
    try test.output.write(moving: StreamBuffer(bytes))
    #expect(throws: StreamError.misuse(.queueFull, "write")) {
      try test.output.write(moving: StreamBuffer(pattern(1_900_000)))
    }
    #expect(test.output.status == .open)
    let arrived = test.peer.receive(bytes.count)
    #expect(arrived.count == bytes.count && arrived == bytes)
  }

  // S146, S147, G9: the process survives it.
  @Test(
    "a write to a peer that is gone is an error and one event, never a signal",
    arguments: TransportUnderTest.allCases)
  func gone(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startWriting()
    test.recorder.expect(.canAcceptBytes, of: .write)
    switch kind {
    case .bound:
      test.input.open()
      test.input.close()
    default: test.peer.fail()
    }
    // The kernel may take a few before it knows.
    let failed = eventually(within: 5) {
      (try? test.output.write([1])) == nil && test.output.status == .error
    }
    #expect(failed)
    #expect(test.output.error?.domain == .posix)
    #expect([EPIPE, ECONNRESET].contains(test.output.error?.code))
    test.recorder.expect(.errorOccurred, of: .write)
    test.base.settle()
    #expect(test.recorder.events(.write).last == .errorOccurred)
    #expect(test.recorder.count(.errorOccurred, of: .write) == 1)
    #expect(throws: StreamError.self) { try test.output.write([1]) }
  }

  // S95, S98, G10
  @Test(
    "close in a callback of the write half is a wall", arguments: TransportUnderTest.allCases,
    [StreamEvent.openCompleted, .canAcceptBytes])
  func closeInCallback(_ kind: TransportUnderTest, _ moment: StreamEvent) throws {
    let test = try Fixture(kind)
    test.recorder.attach(to: test.output) { stream, event in
      if event == .canAcceptBytes { _ = try? stream.write([9]) }
      if event == moment { stream.close() }
    }
    test.open(test.output)
    test.output.schedule(on: test.base)
    test.recorder.expect(moment, of: .write)
    test.settle()
    #expect(test.recorder.events(.write).last == moment)
    #expect(test.peer.receiveToEnd() == (moment == .openCompleted ? [] : [9]))
  }

  // S72, S104
  @Test("only what the mask has is told", arguments: TransportUnderTest.allCases, StreamEvent.allCases)
  func mask(_ kind: TransportUnderTest, _ event: StreamEvent) throws {
    let test = try Fixture(kind)
    test.startWriting(StreamEvents(event))
    #expect(try test.output.write([1]) == 1)
    test.settle()
    #expect(test.recorder.events(.write).allSatisfy { $0 == event })
    #expect(test.output.status == .open)
  }

  // S136: only an opened read half takes bytes from the kernel; L1
  @Test(
    "a reader that does not read slows its peer down: no more than a bounded amount is taken",
    arguments: TransportUnderTest.sockets)
  func backPressure(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading()
    let sent = Shared(0)
    let peer = test.peer
    let total = 8_000_000
    let done = onThread {
      for _ in 0..<(total / 100_000) {
        peer.send([UInt8](repeating: 1, count: 100_000))
        sent.with { $0 += 100_000 }
      }
    }
    test.recorder.expect(.hasBytesAvailable, of: .read)
    // The peer gets stuck: what it could send stops growing before all is out.
    var last = -1
    while sent.value != last {
      last = sent.value
      test.settle()
      _ = done.wait(seconds: 0.05)
    }
    #expect(sent.value < total)
    var count = 0
    while count < total, test.input.waitUntilReady(timeout: .seconds(5)) {
      guard let piece = try readSome(test.input, 65_536), !piece.isEmpty else { break }
      count += piece.count
    }
    #expect(count == total && done.wait(seconds: 5))
  }
}
