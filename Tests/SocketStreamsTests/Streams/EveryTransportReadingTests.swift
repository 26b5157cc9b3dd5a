// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Reading and its events, over every transport.
import Glibc
import SocketStreams
import Testing

@Suite("Reading, over every transport")
struct EveryTransportReadingTests {
  // S81, S85, D2
  @Test(
    "bytes are announced once, however often more arrive, until the client reads",
    arguments: TransportUnderTest.allCases)
  func oneShot(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading()
    test.recorder.expect([.openCompleted], of: .read)
    for round in 0..<4 {
      test.peer.send(pattern(10, from: round))
      test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read, settling: test.base)
    }
  }

  // S82, L1
  @Test(
    "a read that leaves bytes is followed by the event on a later pass, until nothing is left",
    arguments: TransportUnderTest.allCases)
  func readLeavesBytes(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    let got = Shared<[UInt8]>([])
    let depth = Shared(0)
    test.startReading { stream, event in
      depth.with { $0 += 1 }
      #expect(depth.value == 1, "never inside a callback")
      if event == .hasBytesAvailable, let piece = try? readSome(stream, 3) { got.with { $0 += piece } }
      depth.with { $0 -= 1 }
    }
    test.recorder.expect([.openCompleted], of: .read)
    test.peer.send(pattern(10))
    #expect(eventually(within: 5) { got.value.count == 10 })
    test.settle()
    #expect(got.value == pattern(10))
    #expect(test.recorder.count(.hasBytesAvailable, of: .read) <= 5)
  }

  // S83
  @Test(
    "after a read that takes all, the event comes when more arrive", arguments: TransportUnderTest.allCases)
  func readTakesAll(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading { stream, event in
      if event == .hasBytesAvailable { while let piece = try? readSome(stream, 64), !piece.isEmpty {} }
    }
    for round in 1...4 {
      test.peer.send(pattern(10))
      #expect(eventually(within: 5) { test.input.property(.bytesRead) == UInt64(10 * round) })
      test.base.settle()
    }
    let events = test.recorder.events(.read)
    #expect(events.first == .openCompleted && events.count { $0 == .hasBytesAvailable } >= 4)
  }

  // S90, S91, S92, S124, S94
  @Test(
    "the end comes once, by itself, after the last byte; reads answer 0 from then on",
    arguments: TransportUnderTest.allCases)
  func end(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    let got = Shared<[UInt8]>([])
    test.startReading { stream, event in
      if event == .hasBytesAvailable, let piece = try? readSome(stream, 7) { got.with { $0 += piece } }
    }
    test.peer.send(pattern(100))
    test.peer.end()
    test.recorder.expect(.endEncountered, of: .read)
    test.settle()
    #expect(got.value == pattern(100))
    #expect(test.recorder.events(.read).last == .endEncountered)
    #expect(test.recorder.count(.endEncountered, of: .read) == 1)
    #expect(test.recorder.entries.last?.status == .atEnd)
    for _ in 0..<3 { #expect(try readSome(test.input, 1) == []) }
    #expect(test.input.status == .atEnd && !test.input.hasBytesAvailable)
    test.base.settle()
    #expect(test.recorder.count(.endEncountered, of: .read) == 1)
  }

  // S90: a client that does not read is told of no end.
  @Test("the end waits for the last byte to be read", arguments: TransportUnderTest.allCases)
  func endWaits(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading()
    test.peer.send(pattern(5))
    test.peer.end()
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read, settling: test.base)
    #expect(test.input.status == .open)
    #expect(try readSome(test.input, 5) == pattern(5))
    test.recorder.expect(
      [.openCompleted, .hasBytesAvailable, .endEncountered], of: .read, settling: test.base)
  }

  // S84. Not a bufferevent: its bytes come by way of the base that is kept busy here.
  @Test(
    "a read made before the event was delivered takes it back",
    arguments: [TransportUnderTest.socketPair, .tcp, .bound, .scripted])
  func readFirst(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading()
    test.recorder.expect([.openCompleted], of: .read)
    test.base.sync {
      // The base is here, so nothing can be delivered meanwhile.
      test.peer.send(pattern(8))
      #expect(eventually(within: 5) { test.input.hasBytesAvailable })
      #expect((try? readSome(test.input, 100)) == pattern(8))
    }
    test.recorder.expect([.openCompleted], of: .read, settling: test.base)
  }

  // S121, S127, D16
  @Test(
    "a read takes what is there, and the pieces add up to what was sent",
    arguments: TransportUnderTest.allCases, [1, 7, 4_096])
  func anyReadSize(_ kind: TransportUnderTest, _ size: Int) throws {
    let test = try Fixture(kind)
    test.open(test.input)
    let sent = pattern(9_999)
    test.peer.send(sent)
    test.peer.end()
    var got: [UInt8] = []
    while test.input.waitUntilReady(timeout: .seconds(5)) {
      guard let piece = try readSome(test.input, size), !piece.isEmpty else { break }
      #expect(piece.count <= size)
      got += piece
    }
    #expect(got == sent && test.input.status == .atEnd)
  }

  // S123, S129, S130, D14
  @Test(
    "with nothing there a read answers nil at once, and hasBytesAvailable false",
    arguments: TransportUnderTest.allCases)
  func wouldBlock(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading()
    #expect(try readSome(test.input, 1) == nil)
    #expect(!test.input.hasBytesAvailable && test.input.status == .open)
    #expect(!test.input.waitUntilReady(timeout: .milliseconds(1)))
    test.peer.send([1])
    #expect(eventually(within: 5) { test.input.hasBytesAvailable })
    #expect(test.input.hasBytesAvailable, "asking changes nothing")
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read, settling: test.base)
  }

  // S129
  @Test("an end that was not seen yet counts as available", arguments: TransportUnderTest.allCases)
  func endIsAvailable(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.open(test.input)
    test.peer.end()
    #expect(eventually(within: 5) { test.input.hasBytesAvailable })
    #expect(test.input.status == .open)
    #expect(try readSome(test.input, 1) == [])
    #expect(test.input.status == .atEnd && !test.input.hasBytesAvailable)
  }

  // S85, S90, S129: what the CoreFoundation module asks before it passes on the event of bytes.
  @Test("findBytes tells bytes from the end, which becomes known", arguments: TransportUnderTest.allCases)
  func findBytes(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    #expect(!test.input.findBytes(), "not open")
    test.recorder.attach(to: test.input)
    test.open(test.input)
    #expect(!test.input.findBytes() && test.input.status == .open)
    test.peer.send(pattern(3))
    #expect(eventually(within: 5) { test.input.findBytes() })
    #expect(test.input.findBytes(), "asking takes nothing")
    #expect(test.input.withAvailableBytes { _ in 1 } == 1)
    #expect(test.input.findBytes(), "what was lent and left is there")
    #expect(try readSome(test.input, 9) == Array(pattern(3).dropFirst()))
    #expect(!test.input.findBytes())
    test.peer.end()
    #expect(eventually(within: 5) { test.input.hasBytesAvailable })
    #expect(test.input.status == .open)
    #expect(!test.input.findBytes())
    #expect(test.input.status == .atEnd && !test.input.findBytes())
    test.input.schedule(on: test.base)
    test.recorder.expect([.openCompleted, .endEncountered], of: .read, settling: test.base)
  }

  // S93, S129
  @Test("findBytes tells bytes from a failure, which becomes known", arguments: TransportUnderTest.breakable)
  func findBytesOfFailure(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.recorder.attach(to: test.input)
    test.open(test.input)
    test.peer.fail()
    #expect(eventually(within: 5) { test.input.hasBytesAvailable || test.input.status == .error })
    #expect(!test.input.findBytes())
    #expect(test.input.status == .error && test.input.error?.code == ECONNRESET)
    test.input.schedule(on: test.base)
    test.recorder.expect([.openCompleted, .errorOccurred], of: .read, settling: test.base)
  }

  // S128
  @Test(
    "a read of no bytes returns 0, changes nothing, and uses up no event",
    arguments: TransportUnderTest.allCases)
  func emptyRead(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading()
    test.peer.send(pattern(4))
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read)
    var nothing: [UInt8] = []
    let count = try nothing.withUnsafeMutableBytes { memory in try test.input.read(into: memory) }
    #expect(count == 0)
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read, settling: test.base)
    #expect(try readSome(test.input, 9) == pattern(4))
  }

  // S131, D17
  @Test(
    "lent bytes that are not used up are lent and announced again", arguments: TransportUnderTest.allCases)
  func lending(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    let got = Shared<[UInt8]>([])
    test.startReading { stream, event in
      guard event == .hasBytesAvailable else { return }
      stream.withAvailableBytes { bytes in
        let used = min(3, bytes.byteCount)
        bytes.withUnsafeBytes { memory in got.with { $0 += memory.prefix(used) } }
        return used
      }
    }
    test.peer.send(pattern(20))
    test.peer.end()
    test.recorder.expect(.endEncountered, of: .read)
    #expect(got.value == pattern(20))
    #expect(test.input.withAvailableBytes { $0.byteCount } == 0)
  }

  // S77, S78, S97
  @Test("every callback comes on the base's thread, one at a time", arguments: TransportUnderTest.allCases)
  func thread(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading { stream, event in
      #expect(test.base.isCurrent)
      if event == .hasBytesAvailable { _ = try? readSome(stream, 1) }
    }
    test.peer.send(pattern(50))
    test.peer.end()
    test.recorder.expect(.endEncountered, of: .read)
    let thread = test.base.sync { UInt(pthread_self()) }
    #expect(test.recorder.threads(.read).map { UInt($0) } == [thread])
  }

  // S80
  @Test(
    "no callback runs inside a call of the owner, not even on the base's thread",
    arguments: TransportUnderTest.allCases)
  func notInsideCalls(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.base.sync {
      test.recorder.attach(to: test.input)
      test.input.schedule(on: test.base)
      test.input.open()
      test.recorder.attach(to: test.input)
      #expect(test.recorder.entries == [])
    }
    test.recorder.expect([.openCompleted], of: .read)
    test.peer.send(pattern(10))
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read)
    test.base.sync {
      _ = try? readSome(test.input, 1)
      #expect(test.recorder.events(.read).count == 2)
    }
    test.recorder.expect([.openCompleted, .hasBytesAvailable, .hasBytesAvailable], of: .read)
  }

  // S95, S98, S113, G10
  @Test(
    "close in a callback is a wall: no event of the same round follows",
    arguments: TransportUnderTest.allCases, StreamEvents.readEvents)
  func closeInCallback(_ kind: TransportUnderTest, _ moment: StreamEvent) throws {
    let test = try Fixture(kind)
    test.recorder.attach(to: test.input) { stream, event in
      if event == .hasBytesAvailable { _ = try? readSome(stream, 100) }
      if event == moment { stream.close() }
    }
    test.open(test.input)
    test.peer.send(pattern(10))
    test.peer.end()
    #expect(eventually(within: 5) { test.input.hasBytesAvailable })
    // Everything is due at once.
    test.input.schedule(on: test.base)
    test.recorder.expect(moment, of: .read)
    test.settle()
    #expect(test.recorder.events(.read).last == moment)
    #expect(test.input.status == .closed)
  }

  // S68, S69, S109
  @Test(
    "after removeClient or unschedule in a callback, nothing more comes",
    arguments: TransportUnderTest.allCases, [true, false])
  func stopInCallback(_ kind: TransportUnderTest, _ isRemoval: Bool) throws {
    let test = try Fixture(kind)
    test.recorder.attach(to: test.input) { [base = test.base] stream, event in
      if isRemoval { stream.removeClient() } else { stream.unschedule(from: base) }
    }
    test.open(test.input)
    test.peer.send(pattern(10))
    #expect(eventually(within: 5) { test.input.hasBytesAvailable })
    test.input.schedule(on: test.base)
    test.recorder.expect([.openCompleted], of: .read, settling: test.base)
    // What was not told is told later.
    let second = EventRecorder()
    second.attach(to: test.input)
    test.input.schedule(on: test.base)
    second.expect([.hasBytesAvailable], of: .read, settling: test.base)
  }

  // S70, D8
  @Test(
    "a client that is replaced in its own callback gets nothing more; the new one gets the rest",
    arguments: TransportUnderTest.allCases)
  func replaceInCallback(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    let second = EventRecorder()
    test.recorder.attach(to: test.input) { stream, _ in second.attach(to: stream) }
    test.open(test.input)
    test.peer.send(pattern(10))
    #expect(eventually(within: 5) { test.input.hasBytesAvailable })
    test.input.schedule(on: test.base)
    second.expect([.hasBytesAvailable], of: .read, settling: test.base)
    #expect(test.recorder.events(.read) == [.openCompleted])
  }

  // S98
  @Test(
    "the last reference may be dropped in a callback: the stream lives until it returns",
    arguments: TransportUnderTest.pairs)
  func dropInCallback(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.leaks.watch(pair: test.pair)
    let status = Shared<StreamStatus?>(nil)
    let done = Gate()
    test.startReading { stream, event in
      guard event == .hasBytesAvailable else { return }
      test.dropPair()
      _ = try? readSome(stream, 100)
      stream.close()
      status.with { $0 = stream.status }
      done.open()
    }
    test.peer.send([1])
    #expect(done.wait(seconds: 5))
    #expect(status.value == .closed)
    test.leaks.expectNone()
  }
}

extension StreamEvents {
  /// What a read stream tells when all goes well, in order.
  static let readEvents: [StreamEvent] = [.openCompleted, .hasBytesAvailable, .endEncountered]
}
