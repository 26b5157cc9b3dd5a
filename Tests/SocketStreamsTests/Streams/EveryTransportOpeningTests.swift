// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Status, opening and closing, over every transport.
import Glibc
import SocketStreams
import Testing

@Suite("Opening, status and closing, over every transport")
struct EveryTransportOpeningTests {
  // S24, S125, S129, S132, S140, S144, D14
  @Test(
    "a new stream is not open, has no error, and can be neither read nor written",
    arguments: TransportUnderTest.allCases)
  func new(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    #expect(test.input.status == .notOpen && test.output.status == .notOpen)
    #expect(test.input.error == nil && test.output.error == nil)
    #expect(!test.input.hasBytesAvailable && !test.output.canAcceptBytes)
    #expect(throws: StreamError.misuse(.notOpen, "read")) { try readSome(test.input, 1) }
    #expect(throws: StreamError.misuse(.notOpen, "write")) { try test.output.write([1]) }
    #expect(test.input.withAvailableBytes { $0.byteCount } == 0)
    #expect(test.input.status == .notOpen && test.input.error == nil)
  }

  // S25, S44, D14: no loop at all.
  @Test(
    "a stream that is scheduled nowhere opens, and its status tells", arguments: TransportUnderTest.allCases)
  func unscheduled(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.open(test.input, test.output)
    #expect(test.output.canAcceptBytes)
  }

  // S31, S32
  @Test("a second open returns false and changes nothing", arguments: TransportUnderTest.allCases)
  func openedTwice(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.open(test.input)
    #expect(!test.input.open() && test.input.status == .open)
    test.input.close()
    #expect(!test.input.open() && test.input.status == .closed && test.input.error == nil)
  }

  // S30, S125, S140, S132, S129
  @Test("close makes a stream closed, once and for all", arguments: TransportUnderTest.allCases)
  func closed(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.open(test.input, test.output)
    for _ in 0..<2 {
      test.input.close()
      test.output.close()
      #expect(test.input.status == .closed && test.output.status == .closed)
    }
    #expect(throws: StreamError.misuse(.notOpen, "read")) { try readSome(test.input, 1) }
    #expect(throws: StreamError.misuse(.notOpen, "write")) { try test.output.write([1]) }
    #expect(!test.input.hasBytesAvailable && !test.output.canAcceptBytes && test.input.error == nil)
  }

  // S33
  @Test("close before open does nothing, and the stream opens later", arguments: TransportUnderTest.allCases)
  func closedFirst(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.input.close()
    test.output.close()
    #expect(test.input.status == .notOpen && test.output.status == .notOpen)
    test.startReading()
    test.recorder.expect([.openCompleted], of: .read, settling: test.base)
  }

  // S35, S39, S50, S79, S80, S86, S105
  @Test(
    "each half hears that it is open, first and once, with the status already new",
    arguments: TransportUnderTest.pairs)
  func openCompleted(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading()
    test.startWriting()
    test.recorder.expect([.openCompleted], of: .read, settling: test.base)
    test.recorder.expect([.openCompleted, .canAcceptBytes], of: .write, settling: test.base)
    #expect(test.recorder.entries.allSatisfy { $0.status == .open })
  }

  // S41, S136
  @Test("a half that was never opened stays as it is and hears nothing", arguments: TransportUnderTest.pairs)
  func neverOpened(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.recorder.attach(to: test.input)
    test.input.schedule(on: test.base)
    test.startWriting()
    test.recorder.expect(.canAcceptBytes, of: .write)
    test.peer.send(pattern(100))
    test.settle()
    #expect(test.input.status == .notOpen && test.recorder.events(.read) == [])
    // What came meanwhile is there for it.
    test.open(test.input)
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read)
  }

  // S37, S104, S145, S163, G5
  @Test(
    "the peer's end is the read half's alone: the write half goes on", arguments: TransportUnderTest.pairs)
  func peerEnds(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading()
    test.startWriting()
    test.recorder.expect(.canAcceptBytes, of: .write)
    test.peer.end()
    test.recorder.expect([.openCompleted, .endEncountered], of: .read, settling: test.base)
    #expect(test.input.status == .atEnd && test.output.status == .open)
    let bytes = pattern(1_000)
    #expect(try test.output.write(bytes) == bytes.count)
    #expect(test.peer.receive(bytes.count) == bytes)
    test.settle()
    #expect(!test.recorder.events(.write).contains(.endEncountered))
  }

  // S151, S155
  @Test(
    "closing the read half leaves the write half working, and tells the peer nothing",
    arguments: TransportUnderTest.pairs)
  func closeReading(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.open(test.input, test.output)
    test.input.close()
    for round in 0..<3 {
      let bytes = pattern(500, from: round)
      #expect(try test.output.write(bytes) == bytes.count)
      #expect(test.peer.receive(bytes.count) == bytes)
    }
    #expect(test.output.status == .open)
  }

  // S151, S152, G4
  @Test(
    "closing the write half ends its direction; the read half goes on", arguments: TransportUnderTest.pairs)
  func closeWriting(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading()
    test.open(test.output)
    let bytes = pattern(10_000)
    #expect(try test.output.write(bytes) == bytes.count)
    test.output.close()
    #expect(test.peer.receiveToEnd() == bytes)
    test.peer.send(bytes)
    test.peer.end()
    #expect(try test.readAll() == bytes)
    #expect(test.input.status == .atEnd && test.output.status == .closed)
  }

  // S148, G2
  @Test("what was taken over survives the close of both halves", arguments: TransportUnderTest.pairs)
  func closeSends(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.open(test.output)
    test.leaks.watch(pair: test.pair)
    let taken = try test.fill()
    test.pair.close()
    #expect(test.output.status == .closed)
    let arrived = test.peer.receiveToEnd()
    #expect(arrived?.count == taken.count && arrived == taken)
    test.dropPair()
    test.peer.end()
    test.leaks.expectNone()
  }

  // S6, S7, S8, S22, S156
  @Test(
    "a stream that is dropped is closed, and the socket with the second", arguments: TransportUnderTest.pairs)
  func dropped(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.open(test.input, test.output)
    test.leaks.watch(pair: test.pair)
    #expect(try test.output.write([7]) == 1)
    test.dropPair()
    #expect(test.peer.receiveToEnd() == [7])
    test.leaks.expectNone()
  }

  // S22
  @Test(
    "an open stream is kept by its base until it is closed, and by nothing else",
    arguments: TransportUnderTest.pairs)
  func keptByBase(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.leaks.watch(pair: test.pair)
    test.startReading { stream, event in
      if event == .hasBytesAvailable { _ = try? readSome(stream, 10) }
    }
    test.dropPair()
    test.peer.send([1, 2, 3])
    test.recorder.expect(.hasBytesAvailable, of: .read)
    test.base.settle()
    test.peer.end()
    // After its last event the base lets it go.
    test.recorder.expect(
      [.openCompleted, .hasBytesAvailable, .endEncountered], of: .read, settling: test.base)
    test.leaks.expectNone()
  }

  // S134, S135
  @Test("by default no time limit is set, and the buffers are bounded", arguments: TransportUnderTest.pairs)
  func defaults(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.open(test.input, test.output)
    #expect(test.input.property(.readTimeout) == nil && test.output.property(.writeTimeout) == nil)
    #expect(test.input.property(.idleTimeout) == nil && test.input.property(.connectTimeout) == nil)
    #expect(test.input.property(.inputLimit) == 32_768)
    #expect(test.output.property(.outputLimit) == (kind == .scripted ? 0 : 65_536))
  }

  // S29, S93, S126, S146, S164, S173, S174, G7, G8, P3
  @Test(
    "bytes that came before a failure are read first; then both halves tell the same failure",
    arguments: TransportUnderTest.breakable)
  func fails(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    let bytes = pattern(3_000)
    let got = Shared<[UInt8]>([])
    test.startWriting()
    test.startReading { stream, event in
      if event == .errorOccurred { #expect(stream.error != nil) }
      guard event == .hasBytesAvailable, let piece = try? readSome(stream, 1_000) else { return }
      got.with { $0 += piece }
    }
    test.recorder.expect(.canAcceptBytes, of: .write)
    test.peer.send(bytes)
    #expect(eventually(within: 5) { got.value.count == bytes.count })
    test.peer.fail()
    test.recorder.expect(.errorOccurred, of: .read)
    test.recorder.expect(.errorOccurred, of: .write)
    test.settle()
    #expect(got.value == bytes)
    for half in Half.allCases {
      #expect(
        test.recorder.count(.errorOccurred, of: half) == 1
          && test.recorder.events(half).last == .errorOccurred)
    }
    #expect(test.recorder.entries.filter { $0.event == .errorOccurred }.allSatisfy { $0.status == .error })
    #expect(test.input.error?.domain == .posix && test.input.error?.code == ECONNRESET)
    #expect(test.input.error == test.output.error)
    let error = test.input.error
    test.pair.close()
    #expect(test.input.status == .error && test.input.error == error)
    #expect(throws: StreamError.self) { try readSome(test.input, 1) }
    #expect(throws: StreamError.self) { try test.output.write([1]) }
  }

  // G1
  @Test("abort closes both halves, and no event follows", arguments: TransportUnderTest.pairs)
  func abort(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading()
    test.startWriting()
    test.recorder.expect(.canAcceptBytes, of: .write)
    test.leaks.watch(pair: test.pair)
    test.input.abort()
    #expect(test.input.status == .closed && test.output.status == .closed)
    test.base.settle()
    test.recorder.forget()
    test.peer.send([1])
    test.settle()
    #expect(test.recorder.entries == [])
    test.dropPair()
    test.leaks.expectNone()
  }

  // G1, S31
  @Test(
    "a pair that was cut before it was opened cannot be opened any more", arguments: TransportUnderTest.pairs)
  func abortedFirst(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.leaks.watch(pair: test.pair)
    test.output.abort()
    #expect(!test.pair.input.open() && !test.pair.output.open())
    #expect(test.input.status != .open && test.input.status != .opening)
    #expect(throws: StreamError.self) { try test.output.write([1]) }
    test.dropPair()
    test.leaks.expectNone()
  }

  // O1, O7
  @Test("counters and the description tell what a stream did", arguments: TransportUnderTest.pairs)
  func told(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    #expect(test.input.debugDescription.hasPrefix("ReadStream notOpen"))
    test.open(test.input, test.output)
    #expect(test.output.debugDescription.hasPrefix("WriteStream open"))
    #expect(try test.output.write(pattern(300)) == 300)
    #expect(test.peer.receive(300).count == 300)
    test.peer.send(pattern(200))
    test.peer.end()
    #expect(try test.readAll().count == 200)
    #expect(test.input.property(.bytesRead) == 200 && test.output.property(.bytesWritten) == 300)
    #expect(eventually(within: 5) { test.output.property(.queuedByteCount) == 0 })
    test.input.setClient(.all) { _, _ in }
    #expect(test.input.debugDescription.hasSuffix(", client set"))
  }
}
