// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Scheduling: any order of calls, moving, pausing, several bases; over every transport.
import Glibc
import SocketStreams
import Testing

@Suite("Scheduling, over every transport")
struct EveryTransportSchedulingTests {
  /// The three calls that may come in any order.
  enum Step: String, Sendable { case client, schedule, open }

  private static let orders: [[Step]] = [
    [.client, .schedule, .open], [.client, .open, .schedule], [.schedule, .client, .open],
    [.schedule, .open, .client], [.open, .client, .schedule], [.open, .schedule, .client],
  ]

  // S75, S105, D12
  @Test(
    "open, schedule and setClient in any order bring the same events", arguments: TransportUnderTest.allCases,
    orders)
  func anyOrder(_ kind: TransportUnderTest, _ order: [Step]) throws {
    let test = try Fixture(kind)
    for step in order {
      switch step {
      case .client:
        test.recorder.attach(to: test.input) { stream, event in
          if event == .hasBytesAvailable { _ = try? readSome(stream, 100) }
        }
      case .schedule: test.input.schedule(on: test.base)
      case .open: test.open(test.input)
      }
      test.settle()
    }
    test.recorder.expect([.openCompleted], of: .read, settling: test.base)
    test.peer.send([1, 2, 3])
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read, settling: test.base)
    test.peer.end()
    test.recorder.expect(
      [.openCompleted, .hasBytesAvailable, .endEncountered], of: .read, settling: test.base)
  }

  // S74, D12
  @Test("a client that is set late is told what is still true", arguments: TransportUnderTest.allCases)
  func lateClient(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.input.schedule(on: test.base)
    test.open(test.input)
    test.peer.send([1])
    #expect(eventually(within: 5) { test.input.hasBytesAvailable })
    test.settle()
    test.recorder.attach(to: test.input, [.hasBytesAvailable])
    test.recorder.expect([.hasBytesAvailable], of: .read, settling: test.base)
    #expect(try readSome(test.input, 10) == [1])
    test.peer.end()
    #expect(eventually(within: 5) { test.input.status == .atEnd })
    test.recorder.attach(to: test.input, [.endEncountered])
    test.recorder.expect([.hasBytesAvailable, .endEncountered], of: .read, settling: test.base)
    // Nothing comes behind the terminal event, wanted late or not.
    test.recorder.attach(to: test.input)
    test.recorder.expect([.hasBytesAvailable, .endEncountered], of: .read, settling: test.base)
  }

  // S100, S109, S110, D11, I11
  @Test(
    "what happens while unscheduled is delivered when scheduled again, and once",
    arguments: TransportUnderTest.allCases)
  func paused(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading()
    test.recorder.expect([.openCompleted], of: .read)
    test.input.unschedule(from: test.base)
    test.settle()
    test.peer.send([1, 2])
    test.peer.end()
    test.settle()
    #expect(test.recorder.events(.read) == [.openCompleted])
    test.input.schedule(on: test.base)
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read, settling: test.base)
    test.input.unschedule(from: test.base)
    #expect(try readSome(test.input, 10) == [1, 2])
    test.settle()
    test.input.schedule(on: test.base)
    test.recorder.expect(
      [.openCompleted, .hasBytesAvailable, .endEncountered], of: .read, settling: test.base)
  }

  // S106, S107
  @Test("scheduling twice on a base counts once", arguments: TransportUnderTest.allCases)
  func twice(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading()
    test.input.schedule(on: test.base)
    test.recorder.expect([.openCompleted], of: .read, settling: test.base)
    test.input.unschedule(from: test.base)
    test.settle()
    test.peer.send([1])
    test.settle()
    #expect(test.recorder.events(.read) == [.openCompleted])
  }

  // S108, D10
  @Test(
    "unscheduling from a base that a stream is not on does nothing", arguments: TransportUnderTest.allCases)
  func wrongBase(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    let other = try EventBase.startThread(named: "other")
    test.startReading()
    test.input.unschedule(from: other)
    test.peer.send([1])
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read, settling: test.base)
  }

  // S106, S111, D10, I11
  @Test("moving between bases loses and repeats nothing", arguments: TransportUnderTest.allCases)
  func moved(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    let bases = [try EventBase.startThread(named: "even"), try EventBase.startThread(named: "odd")]
    let got = Shared<[UInt8]>([])
    test.startReading { stream, event in
      if event == .hasBytesAvailable, let piece = try? readSome(stream, 10) { got.with { $0 += piece } }
    }
    for round in 0..<40 {
      test.peer.send(pattern(25, from: round * 25))
      test.input.schedule(on: bases[round % 2])
    }
    test.peer.end()
    test.recorder.expect(.endEncountered, of: .read)
    #expect(got.value == pattern(1_000))
    #expect(test.recorder.count(.openCompleted, of: .read) == 1)
    #expect(test.recorder.count(.endEncountered, of: .read) == 1)
  }

  // S97, S111, I12
  @Test(
    "a stream that is moved during a callback is not called on its new base before that returns",
    arguments: TransportUnderTest.allCases)
  func movedInCallback(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    let other = try EventBase.startThread(named: "other")
    let (entered, leave) = (Gate(), Gate())
    test.startReading { stream, event in
      guard event == .hasBytesAvailable, test.base.isCurrent else { return }
      _ = try? readSome(stream, 1)
      entered.open()
      #expect(leave.wait(seconds: 5))
    }
    test.peer.send([1, 2])
    #expect(entered.wait(seconds: 5))
    // The first callback is on the stack, and the second event is due.
    test.input.schedule(on: other)
    other.settle()
    #expect(test.recorder.events(.read) == [.openCompleted, .hasBytesAvailable])
    leave.open()
    test.recorder.expect(
      [.openCompleted, .hasBytesAvailable, .hasBytesAvailable], of: .read, settling: other)
    #expect(test.recorder.threads(.read).count == 2)
  }

  // S112
  @Test(
    "the halves may be on different bases, and each is called on its own", arguments: TransportUnderTest.pairs
  )
  func twoBases(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    let other = try EventBase.startThread(named: "other")
    test.recorder.attach(to: test.pair)
    test.input.schedule(on: test.base)
    test.output.schedule(on: other)
    test.open(test.input, test.output)
    test.peer.send([1])
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read)
    test.recorder.expect([.openCompleted, .canAcceptBytes], of: .write)
    let threads = (test.base.sync { UInt(pthread_self()) }, other.sync { UInt(pthread_self()) })
    #expect(test.recorder.threads(.read).map { UInt($0) } == [threads.0])
    #expect(test.recorder.threads(.write).map { UInt($0) } == [threads.1])
  }

  // S115, D8 of the differences
  @Test(
    "scheduling a stream that is closed, or has told its end, does nothing and keeps nothing",
    arguments: TransportUnderTest.pairs)
  func afterTheEnd(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    test.startReading()
    test.open(test.output)
    test.peer.end()
    test.recorder.expect([.openCompleted, .endEncountered], of: .read)
    test.output.close()
    test.leaks.watch(pair: test.pair)
    test.pair.schedule(on: test.base)
    test.recorder.expect([.openCompleted, .endEncountered], of: .read, settling: test.base)
    test.dropPair()
    test.leaks.expectNone()
  }

  // S119. Not a bufferevent: it lives on its base and ends with it.
  @Test(
    "a base that ends unschedules its streams: they can be polled, and scheduled elsewhere",
    arguments: [TransportUnderTest.socketPair, .tcp, .scripted])
  func baseEnds(_ kind: TransportUnderTest) throws {
    let test = try Fixture(kind)
    let doomed = try EventBase.startThread(named: "doomed")
    test.recorder.attach(to: test.input)
    test.input.schedule(on: doomed)
    test.open(test.input)
    test.recorder.expect([.openCompleted], of: .read)
    doomed.stop()
    doomed.join()
    test.peer.send([1, 2])
    #expect(eventually(within: 5) { test.input.hasBytesAvailable })
    #expect(test.input.status == .open && test.recorder.events(.read) == [.openCompleted])
    test.input.schedule(on: test.base)
    test.recorder.expect([.openCompleted, .hasBytesAvailable], of: .read, settling: test.base)
    #expect(try readSome(test.input, 10) == [1, 2])
  }

  // S99
  @Test(
    "a stream with endless data does not starve another on the same base", arguments: TransportUnderTest.pairs
  )
  func fairness(_ kind: TransportUnderTest) throws {
    let busy = try Fixture(kind)
    let quiet = try Fixture(kind)
    let isDone = Shared(false)
    busy.recorder.attach(to: busy.input) { stream, event in
      // One byte a call: there is always more.
      if event == .hasBytesAvailable, !isDone.value { _ = try? readSome(stream, 1) }
    }
    busy.input.schedule(on: busy.base)
    busy.open(busy.input)
    busy.peer.send(pattern(20_000))
    busy.recorder.expect(.hasBytesAvailable, of: .read, times: 10)
    quiet.recorder.attach(to: quiet.input) { stream, event in
      if event == .hasBytesAvailable { _ = try? readSome(stream, 1) }
    }
    quiet.input.schedule(on: busy.base)
    quiet.open(quiet.input)
    quiet.peer.send(pattern(20))
    quiet.recorder.expect(.hasBytesAvailable, of: .read, times: 20)
    #expect(busy.recorder.count(.hasBytesAvailable, of: .read) < 20_000, "both had turns")
    isDone.with { $0 = true }
  }

  // S96, S118, D19 of the differences
  @Test(
    "calls from several threads at once break nothing, and close is a wall for what starts after it",
    arguments: TransportUnderTest.pairs)
  func anyThread(_ kind: TransportUnderTest) throws {
    for _ in 0..<20 {
      let test = try Fixture(kind)
      let other = try EventBase.startThread(named: "other")
      let (input, recorder, base) = (test.input, test.recorder, test.base)
      test.startReading { stream, event in
        if event == .hasBytesAvailable { _ = try? readSome(stream, 1) }
      }
      test.peer.send(pattern(100))
      let gates = [
        onThread { for _ in 0..<20 { input.schedule(on: other); input.unschedule(from: other) } },
        onThread { for _ in 0..<20 { input.schedule(on: base) } },
        onThread { for _ in 0..<20 { recorder.attach(to: input); input.removeClient() } },
        onThread { input.close() },
      ]
      for gate in gates { #expect(gate.wait(seconds: 5)) }
      // A callback that had begun may finish; then there is silence.
      base.settle()
      other.settle()
      recorder.forget()
      test.peer.send([1])
      base.settle()
      other.settle()
      #expect(recorder.entries == [] && input.status == .closed)
      other.stop()
    }
  }
}
