// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What needs a peer that does exactly what it is told: the moment of opening, short reads and writes, faults on demand.
import Glibc
import SocketStreams
import Testing

@Suite("A pair with a scripted peer")
struct ScriptedPairTests {
  /// A scripted pair that opens when its peer says so.
  private func opening() throws -> (test: Fixture, script: ScriptedPeer) {
    let test = try Fixture(.scripted, opensAtOnce: false)
    let peer = try #require(test.peer as? ScriptPeer)
    return (test, peer.script)
  }

  // S25, S34, S38, S42, S43, S50
  @Test("open returns true with status opening; the outcome is told, once to each half that was opened")
  func opensLater() throws {
    let (test, script) = try opening()
    test.recorder.attach(to: test.pair)
    test.pair.schedule(on: test.base)
    let isOpening = test.input.open()
    #expect(isOpening && test.input.status == .opening && test.output.status == .notOpen)
    #expect(!test.input.open(), "a second time")
    test.output.open()
    test.settle()
    #expect(test.recorder.entries == [] && test.output.status == .opening)
    script.completeOpening()
    #expect(test.input.status == .open && test.output.status == .open)
    test.recorder.expect([.openCompleted], of: .read, settling: test.base)
    test.recorder.expect([.openCompleted, .canAcceptBytes], of: .write, settling: test.base)
  }

  // S39
  @Test("a half that is opened after the connection is up is open on return, and still hears it")
  func joinsOpen() throws {
    let (test, script) = try opening()
    test.recorder.attach(to: test.pair)
    test.pair.schedule(on: test.base)
    test.input.open()
    script.completeOpening()
    let isOpening = test.output.open()
    #expect(isOpening && test.output.status == .open)
    test.recorder.expect([.openCompleted, .canAcceptBytes], of: .write, settling: test.base)
  }

  // S40, S41, S51, S173, S174
  @Test(
    "an opening that fails is told to each opened half as its one event; a half opened later fails at once")
  func openingFails() throws {
    let (test, script) = try opening()
    test.recorder.attach(to: test.pair)
    test.pair.schedule(on: test.base)
    test.input.open()
    let error = StreamError.posix(ECONNREFUSED, "connect")
    script.failOpening(error)
    #expect(test.input.status == .error && test.input.error == error)
    test.recorder.expect([.errorOccurred], of: .read, settling: test.base)
    #expect(test.recorder.events(.write) == [] && test.output.status == .notOpen && test.output.error == nil)
    let isOpening = test.output.open()
    #expect(!isOpening && test.output.status == .error && test.output.error == error)
    test.recorder.expect([.errorOccurred], of: .write, settling: test.base)
  }

  // S54, S95
  @Test("close while opening ends it, and no event follows, whatever the outcome", arguments: [true, false])
  func closedWhileOpening(_ succeeds: Bool) throws {
    let (test, script) = try opening()
    test.recorder.attach(to: test.pair)
    test.pair.schedule(on: test.base)
    test.pair.open()
    test.pair.close()
    #expect(test.input.status == .closed && test.output.status == .closed)
    if succeeds { script.completeOpening() } else { script.failOpening(.posix(ECONNREFUSED, "connect")) }
    test.settle()
    #expect(test.recorder.entries == [] && test.input.status == .closed && test.input.error == nil)
  }

  // S46, S49, S80, D15
  @Test("a thread that waits while the stream opens is woken by the outcome, and no client is called on it")
  func waitsForOpening() throws {
    let (test, script) = try opening()
    test.recorder.attach(to: test.pair)
    test.pair.open()
    let isWaiting = Signal()
    let bytes = Shared<[UInt8]?>(nil)
    let done = onThread { [input = test.input] in
      isWaiting.raise()
      guard input.waitUntilReady(timeout: .seconds(5)) else { return }
      let got = try? readSome(input, 10)
      bytes.with { $0 = got }
    }
    #expect(isWaiting.wait(seconds: 5))
    #expect(try readSome(test.input, 1) == nil, "a read while opening would block")
    script.completeOpening()
    script.send([4, 5])
    #expect(done.wait(seconds: 5))
    #expect(bytes.value == [4, 5] && test.recorder.entries == [])
  }

  // S46, S49
  @Test(
    "a waiting thread is woken by a failed opening, by a failure, by the end and by close", arguments: 0..<4)
  func wokenWaiting(_ reason: Int) throws {
    let (test, script) = try opening()
    test.input.open()
    if reason > 0 { script.completeOpening() }
    let isWaiting = Signal()
    let answer = Shared<Bool?>(nil)
    let done = onThread { [input = test.input] in
      isWaiting.raise()
      let isReady = input.waitUntilReady(timeout: .seconds(30))
      answer.with { $0 = isReady }
    }
    #expect(isWaiting.wait(seconds: 5))
    switch reason {
    case 0: script.failOpening(.posix(ECONNREFUSED, "connect"))
    case 1: script.fail(ECONNRESET)
    case 2: script.end()
    default: test.input.close()
    }
    #expect(done.wait(seconds: 5) && answer.value == true)
  }

  // P3, S127, L5
  @Test(
    "short reads: a read takes no more than the peer lets it, and the rest is announced",
    arguments: [1, 3, 64])
  func shortReads(_ limit: Int) throws {
    let test = try Fixture(.scripted)
    let script = try #require(test.peer as? ScriptPeer).script
    script.limitReads(to: limit)
    let got = Shared<[UInt8]>([])
    test.startReading { stream, event in
      guard event == .hasBytesAvailable, let piece = try? readSome(stream, 100) else { return }
      #expect(piece.count <= limit)
      got.with { $0 += piece }
    }
    test.peer.send(pattern(50))
    test.peer.end()
    test.recorder.expect(.endEncountered, of: .read)
    #expect(got.value == pattern(50))
  }

  // P3, S137, L5
  @Test("short writes: the count tells, and the event comes again", arguments: [1, 3, 64])
  func shortWrites(_ limit: Int) throws {
    let test = try Fixture(.scripted)
    let script = try #require(test.peer as? ScriptPeer).script
    script.limitWrites(to: limit)
    let rest = Shared(pattern(50))
    test.startWriting { stream, event in
      guard event == .canAcceptBytes, !rest.value.isEmpty else { return }
      let taken = (try? stream.write(rest.value)) ?? 0
      #expect(taken > 0 && taken <= limit)
      rest.with { $0.removeFirst(taken) }
    }
    #expect(eventually(within: 5) { script.received == pattern(50) })
  }

  // S88, S139, I10
  @Test("a peer that takes nothing, then a few bytes, then all")
  func acceptance() throws {
    let test = try Fixture(.scripted)
    let script = try #require(test.peer as? ScriptPeer).script
    test.startWriting()
    test.recorder.expect([.openCompleted, .canAcceptBytes], of: .write, settling: test.base)
    script.accept(0)
    #expect(try test.output.write([1, 2, 3]) == nil)
    test.recorder.expect([.openCompleted, .canAcceptBytes], of: .write, settling: test.base)
    script.accept(2)
    test.recorder.expect([.openCompleted, .canAcceptBytes, .canAcceptBytes], of: .write, settling: test.base)
    #expect(try test.output.write([1, 2, 3]) == 2)
    #expect(try test.output.write([3]) == nil)
    script.accept(.max)
    #expect(try test.output.write([3]) == 1)
    #expect(script.received == [1, 2, 3])
  }

  // F2, S46
  @Test("what is written while the stream opens is sent")
  func writtenWhileOpening() throws {
    let (test, script) = try opening()
    test.output.open()
    #expect(try test.output.write([1, 2]) == 2)
    script.completeOpening()
    #expect(try test.output.write([3]) == 1)
    #expect(script.received == [1, 2, 3])
  }

  // S36, S126, S94, G7, G8
  @Test("a write that fails does not cost the bytes that had arrived: they are read, then comes the failure")
  func failedWriteKeepsInput() throws {
    let test = try Fixture(.scripted)
    test.startReading()
    test.startWriting()
    test.peer.send(pattern(20))
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read)
    test.peer.fail()
    #expect(throws: StreamError.posix(ECONNRESET, "write")) { try test.output.write([1]) }
    #expect(test.output.status == .error)
    test.base.settle()
    #expect(test.input.status == .open && test.input.error == nil)
    #expect(try readSome(test.input, 100) == pattern(20))
    test.recorder.expect(
      [.openCompleted, .hasBytesAvailable, .errorOccurred], of: .read, settling: test.base)
    #expect(test.input.error == test.output.error)
  }

  // S94, G9
  @Test("an end that was told is not followed by a failure, and a failure not by an end")
  func endThenFailure() throws {
    let test = try Fixture(.scripted)
    test.startReading()
    test.startWriting()
    test.peer.end()
    test.recorder.expect([.openCompleted, .endEncountered], of: .read)
    test.peer.fail()
    test.recorder.expect(.errorOccurred, of: .write)
    test.recorder.expect([.openCompleted, .endEncountered], of: .read, settling: test.base)
    #expect(test.input.status == .atEnd && test.input.error == nil)
    #expect(try readSome(test.input, 1) == [])
  }

  // S152, P1
  @Test(
    "the peer sees the end when the write stream closes, and also when the whole pair is dropped",
    arguments: [true, false])
  func seesEnd(_ isDropped: Bool) throws {
    let test = try Fixture(.scripted)
    let script = try #require(test.peer as? ScriptPeer).script
    test.open(test.input, test.output)
    #expect(!script.hasSeenEnd)
    if isDropped { test.dropPair() } else { test.output.close() }
    #expect(eventually(within: 5) { script.hasSeenEnd })
  }

  // G1
  @Test("a peer whose pair is cut sees no end")
  func aborted() throws {
    let test = try Fixture(.scripted)
    let script = try #require(test.peer as? ScriptPeer).script
    test.open(test.input, test.output)
    test.output.abort()
    test.settle()
    #expect(!script.hasSeenEnd)
  }
}

@Suite("A bound pair")
struct BoundPairTests {
  // P1, S127, S148, S90
  @Test("what goes in comes out, then the end", arguments: [1, 10, 65_536])
  func echo(_ size: Int) throws {
    let pair = StreamPair.bound(bufferSize: size)
    let base = try EventBase.startThread(named: "bound")
    defer { base.stop() }
    let recorder = EventRecorder()
    let (got, rest) = (Shared<[UInt8]>([]), Shared(pattern(500)))
    recorder.attach(to: pair.input) { stream, event in
      if event == .hasBytesAvailable, let piece = try? readSome(stream, 7) { got.with { $0 += piece } }
    }
    recorder.attach(to: pair.output) { stream, event in
      guard event == .canAcceptBytes else { return }
      if rest.value.isEmpty { return stream.close() }
      guard let taken = try? stream.write(rest.value) else { return }
      #expect(taken <= size)
      rest.with { $0.removeFirst(taken) }
    }
    pair.schedule(on: base)
    pair.open()
    recorder.expect(.endEncountered, of: .read)
    #expect(got.value == pattern(500) && pair.output.status == .closed && pair.input.status == .atEnd)
  }

  // P1, S149
  @Test("no more is on the way than the buffer holds")
  func bounded() throws {
    let pair = StreamPair.bound(bufferSize: 10)
    pair.open()
    #expect(try pair.output.write(pattern(15)) == 10)
    #expect(try pair.output.write([1]) == nil)
    #expect(!pair.output.canAcceptBytes)
    #expect(try readSome(pair.input, 4) == pattern(4))
    #expect(pair.output.canAcceptBytes)
    #expect(try pair.output.write(pattern(15)) == 4)
  }

  // S146, S93
  @Test("without a reader a write fails with EPIPE, and the writer hears of it once")
  func noReader() throws {
    let pair = StreamPair.bound()
    let base = try EventBase.startThread(named: "bound")
    defer { base.stop() }
    let recorder = EventRecorder()
    recorder.attach(to: pair.output)
    pair.schedule(on: base)
    pair.open()
    pair.input.close()
    recorder.expect(.canAcceptBytes, of: .write)
    base.settle()
    #expect(throws: StreamError.posix(EPIPE, "write")) { try pair.output.write([1]) }
    recorder.expect(.errorOccurred, of: .write)
    base.settle()
    #expect(recorder.count(.errorOccurred, of: .write) == 1 && pair.output.status == .error)
  }
}
