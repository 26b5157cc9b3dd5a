// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// CoreFoundation as the oracle: the same script through a stream of plain callbacks and through ours, the listed
// differences (D1…) and no others.

import CoreFoundation
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct OracleTests {
  /// One step of a script.
  private enum Step {
    case receive([UInt8]), read(Int), getBuffer(Int), turn, end, fail, close, ask
    case removeClient, setClient, unschedule, schedule
  }

  /// Scripts without what the differences are about: the client is there and scheduled before anything happens, and is
  /// away only while nothing does.
  private static func script(_ seed: UInt64) -> [Step] {
    var random = SeededGenerator(seed: seed)
    var steps: [Step] = []
    var waiting = 0
    var isOver = false
    while steps.count < 40 {
      switch random.below(12) {
      case 0...2 where !isOver:
        let count = 1 + random.below(20)
        waiting += count
        steps.append(.receive((0..<count).map { _ in UInt8(random.below(256)) }))
      case 3...4 where waiting > 0:
        let count = 1 + random.below(15)
        waiting -= min(waiting, count)
        steps.append(random.oneIn(3) ? .getBuffer(count) : .read(count))
      case 5, 6, 7: steps += [.turn, .ask]
      case 8 where waiting == 0:
        steps += [.turn, .ask]
        steps += random.oneIn(2) ? [.unschedule, .ask, .schedule] : [.removeClient, .ask, .setClient]
        steps += [.turn]
      case 9 where !isOver && random.oneIn(4):
        isOver = true
        // Where a failure is, is found with the bytes before it: over a socket a reset may take them with it.
        steps += [waiting == 0 && random.oneIn(2) ? .fail : .end, .turn, .ask]
      case 10 where isOver && waiting == 0: steps += [.turn, .read(5), .ask]
      case 11 where random.oneIn(15): return steps + [.close, .turn, .ask, .close, .ask]
      default: break
      }
    }
    return steps
  }

  /// What a client and the caller saw.
  private func play(_ steps: [Step], on played: some PlayedStream) -> [String] {
    let stream = played.stream
    let client = CFClient()
    var trace: [String] = []
    client.onRead = { _, event in trace.append("event \(event.rawValue)") }
    client.attach(to: stream)
    schedule(stream)
    trace.append("open \(CFReadStreamOpen(stream))")
    played.opens()
    turnOnce()
    for step in steps {
      switch step {
      case .receive(let bytes): played.receives(bytes)
      case .read(let count):
        let (result, bytes) = read(stream, count)
        trace.append("read \(result) \(bytes)")
        played.wasRead()
      case .getBuffer(let limit):
        var count: CFIndex = -7
        let found = CFReadStreamGetBuffer(stream, limit, &count)
        trace.append(
          "buffer \(count) \(found.map { Array(UnsafeBufferPointer(start: $0, count: count)) } ?? [])")
        played.wasRead()
      case .turn: turnOnce()
      case .end: played.ends()
      case .fail: played.fails()
      case .close: CFReadStreamClose(stream)
      case .ask:
        trace.append(
          "status \(CFReadStreamGetStatus(stream).rawValue) bytes \(CFReadStreamHasBytesAvailable(stream))")
        trace.append("error \(CFReadStreamGetError(stream))")
      case .removeClient: CFReadStreamSetClient(stream, 0, nil, nil)
      case .setClient: client.attach(to: stream)
      case .unschedule:
        CFReadStreamUnscheduleFromRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode)
      case .schedule: schedule(stream)
      }
    }
    CFReadStreamClose(stream)
    return trace
  }

  private func turnOnce() {
    for _ in 0..<4 { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true) }
    for _ in 0..<2 { EventBase.shared.sync {} }
    for _ in 0..<4 { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true) }
  }

  // S23 to S37, S81 to S94, S121 to S133: whatever the script.
  @Test func withoutADifferenceBothSayTheSame() throws {
    for seed in scriptSeeds(150) {
      let steps = Self.script(seed)
      let expected = play(steps, on: PlainStream())
      let seen = try play(steps, on: AdaptedStream())
      #expect(seen == expected, "seed \(seed): \(steps)")
      if seen != expected { break }
    }
  }

  // S73: so that the adapter hears of every client that comes, changes or goes.
  @Test func eventsAreRequestedWhenTheMaskChanges() {
    let played = PlainStream()
    let client = CFClient()
    for events: CFOptionFlags in [31, 31, 2, 2, 0, 0] { client.attach(to: played.stream, events) }
    #expect(played.requests == [27, 2, 0], "without room, which a read stream does not have")
    CFReadStreamClose(played.stream)
  }

  /// What the client of a played stream is told, by CoreFoundation alone and by ours.
  private func told(
    _ body: (_ played: any PlayedStream, _ client: CFClient) throws -> Void
  ) throws -> (plain: [UInt], ours: [UInt]) {
    let subjects: [any PlayedStream] = [PlainStream(), try AdaptedStream()]
    let events = try subjects.map { played in
      let client = CFClient()
      try body(played, client)
      turnOnce()
      CFReadStreamSetClient(played.stream, 0, nil, nil)
      CFReadStreamClose(played.stream)
      return client.events
    }
    return (events[0], events[1])
  }

  // D1: a close in a callback ends the turn's other events.
  @Test func afterACloseInACallbackNothingComes() throws {
    let (plain, ours) = try told { played, client in
      client.onRead = { stream, _ in CFReadStreamClose(stream) }
      client.attach(to: played.stream)
      schedule(played.stream)
      CFReadStreamOpen(played.stream)
      played.opens()
      played.receives([1])
    }
    #expect(plain == [1, 2])
    #expect(ours == [1])
  }

  // D2: after a replacement in a callback the rest goes to the new client.
  @Test func aReplacementGetsTheRest() throws {
    var seconds: [[UInt]] = []
    let (plain, ours) = try told { played, client in
      let second = CFClient()
      client.onRead = { stream, _ in second.attach(to: stream) }
      client.attach(to: played.stream)
      schedule(played.stream)
      CFReadStreamOpen(played.stream)
      played.opens()
      played.receives([1])
      turnOnce()
      seconds.append(second.events)
    }
    #expect(plain == [1, 2] && seconds[0] == [])
    #expect(ours == [1] && seconds[1] == [2])
  }

  // D3: what happens before the client, before the loop, or off the loop.
  @Test(arguments: ["client", "schedule", "off the loop"])
  func whatHappensTooEarlyIsNotLost(late: String) throws {
    let (plain, ours) = try told { played, client in
      if late != "client" { client.attach(to: played.stream) }
      if late != "schedule" { schedule(played.stream) }
      if late == "off the loop" {
        CFReadStreamUnscheduleFromRunLoop(played.stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode)
      }
      CFReadStreamOpen(played.stream)
      played.opens()
      played.receives([1])
      turnOnce()
      if late == "client" { client.attach(to: played.stream) } else { schedule(played.stream) }
    }
    #expect(plain == [])
    #expect(ours == [1, 2])
  }

  // D3's exception (A8): who has seen the opening by polling is not told of it by CoreFoundation, whatever is signalled.
  @Test func anOpeningSeenByPollingIsNotTold() throws {
    let (plain, ours) = try told { played, client in
      client.attach(to: played.stream)
      CFReadStreamOpen(played.stream)
      played.opens()
      #expect(CFReadStreamGetStatus(played.stream) == .open)
      schedule(played.stream)
    }
    #expect(plain == [])
    #expect(ours == [])
  }

  // D4: an end and a failure in one turn, which over a socket are the peer's two ways to end it.
  @Test func anEndAndAFailureAreOneEvent() throws {
    let (plain, ours) = try told { played, client in
      client.attach(to: played.stream)
      schedule(played.stream)
      CFReadStreamOpen(played.stream)
      played.opens()
      turnOnce()
      played.ends()
      played.fails()
    }
    #expect(plain == [1, 8, 16])
    #expect(ours == [1, 8] || ours == [1, 16])
  }

  // D9: a client that reads byte by byte of much, beside one to whom a byte came meanwhile.
  @Test func aBusyStreamStarvesAnotherInCoreFoundationAlone() throws {
    let count = 300
    /// How many events the busy stream had before the quiet one's.
    func lead(_ busy: any PlayedStream, _ quiet: any PlayedStream) -> Int {
      let loud = CFClient(), still = CFClient()
      var lead = 0
      loud.onRead = { stream, event in if event == .hasBytesAvailable { _ = read(stream, 1) } }
      still.onRead = { _, event in
        if event == .hasBytesAvailable { lead = loud.count(.hasBytesAvailable) }
      }
      for (played, client) in [(busy, loud), (quiet, still)] {
        client.attach(to: played.stream)
        schedule(played.stream)
        CFReadStreamOpen(played.stream)
        played.opens()
        turnOnce()
      }
      busy.receives([UInt8](repeating: 1, count: count))
      turnOnce()
      quiet.receives([2])
      turn { still.has(.hasBytesAvailable) }
      for played in [busy, quiet] { CFReadStreamClose(played.stream) }
      return lead
    }
    #expect(lead(PlainStream(), PlainStream()) == count)
    #expect(try lead(AdaptedStream(), AdaptedStream()) < count)
  }

  // D7: a nested loop after a nested call.
  @Test func callbacksDoNotNest() throws {
    var most: [Int] = []
    _ = try told { played, client in
      client.onRead = { stream, event in
        guard event == .hasBytesAvailable else { return }
        _ = CFReadStreamGetStatus(stream)
        _ = read(stream, 1)
        settle()
      }
      client.attach(to: played.stream)
      schedule(played.stream)
      CFReadStreamOpen(played.stream)
      played.opens()
      played.receives([1, 2, 3])
      turnOnce()
      most.append(client.mostNested)
    }
    #expect(most[0] > 1)
    #expect(most[1] == 1)
  }

  // D10: not to be cured from here; unscheduling from a loop the stream is not on takes it off the one it is on.
  @Test func unschedulingFromTheWrongModeIsAsInCoreFoundation() throws {
    let (plain, ours) = try told { played, client in
      client.attach(to: played.stream)
      schedule(played.stream)
      CFReadStreamUnscheduleFromRunLoop(played.stream, CFRunLoopGetCurrent(), "SocketStreamsWrongMode".cf)
      CFReadStreamOpen(played.stream)
      played.opens()
    }
    #expect(plain == [])
    #expect(ours == [])
  }
}
