// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("Moving streams between bases", .timeLimit(.minutes(3)))
struct MovingTests {
  enum Moved: CaseIterable { case reader, writer, both }

  // S100, S110, S111, S112; rule 3 of the architecture.
  @Test(
    "a half that moves 400 times under load loses and repeats nothing", arguments: Carrier.allCases,
    Moved.allCases)
  func moves(carrier: Carrier, moved: Moved) throws {
    let first = try EventBase.startThread(named: "first")
    let second = try EventBase.startThread(named: "second")
    try move(carrier, moved, between: [first, second], times: 400)
    for base in [first, second] {
      base.stop()
      base.join()
    }
  }

  // S106, S111; rule 3 of the architecture.
  @Test(
    "a stream that was scheduled on a base that never ran delivers on the next one",
    arguments: Carrier.allCases)
  func leavesIdleBase(carrier: Carrier) throws {
    let idle = try EventBase()
    let base = try EventBase.startThread(named: "running")
    let link = try carrier.connect()
    let source = Source(on: [base])
    let sink = Sink(on: [base])
    sink.start(link.near.input)
    source.start(link.far.output)
    for stream in [link.near.input, link.far.output] as [SocketStream] {
      for _ in 0..<3 {
        stream.schedule(on: idle)
        stream.unschedule(from: idle)
      }
      stream.schedule(on: idle)
      stream.schedule(on: base)
    }
    #expect(eventually { sink.received > 100_000 })
    source.stop()
    #expect(sink.finished.wait(seconds: 60))
    #expect(sink.received == source.sent)
    #expect(sink.faults + source.faults == [])
    base.stop()
    base.join()
  }

  // S100, S111.
  @Test(
    "a stream that left a base which has ended meanwhile delivers on the next one",
    arguments: Carrier.allCases)
  func leavesEndedBase(carrier: Carrier) throws {
    let base = try EventBase.startThread(named: "running")
    let link = try carrier.connect()
    let source = Source(on: [base])
    let sink = Sink(on: [base])
    sink.start(link.near.input)
    source.start(link.far.output)
    for stream in [link.near.input, link.far.output] as [SocketStream] {
      let ended = try EventBase()
      stream.schedule(on: ended)
      stream.unschedule(from: ended)
    }
    for stream in [link.near.input, link.far.output] as [SocketStream] { stream.schedule(on: base) }
    #expect(eventually { sink.received > 100_000 })
    source.stop()
    #expect(sink.finished.wait(seconds: 60))
    #expect(sink.received == source.sent)
    #expect(sink.faults + source.faults == [])
    base.stop()
    base.join()
  }
}

/// Moves halves of a pair between two bases while bytes run both ways through it, and checks every byte.
func move(
  _ carrier: Carrier, _ moved: MovingTests.Moved, between bases: [EventBase], times: Int,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let link = try carrier.connect()
  let (out, back) = (Source(on: bases), Source(on: bases))
  let (arrival, echo) = (Sink(on: bases), Sink(on: bases))
  arrival.start(link.far.input)
  out.start(link.near.output)
  link.far.input.schedule(on: bases[0])
  link.near.output.schedule(on: bases[0])
  let isOneWay = carrier == .bound
  if !isOneWay {
    echo.start(link.near.input)
    back.start(link.far.output)
    link.near.input.schedule(on: bases[1])
    link.far.output.schedule(on: bases[1])
  }
  var isRunning = true
  for number in 0..<times where isRunning {
    let base = bases[number % bases.count]
    if moved != .writer { link.near.input.schedule(on: base) }
    if moved != .reader { link.near.output.schedule(on: base) }
    // Some moves follow one another at once; after the others both directions have to go on.
    if number % 3 == 0 { continue }
    let (before, backBefore) = (arrival.received, echo.received)
    isRunning = eventually(within: 20) {
      arrival.received > before && (isOneWay || echo.received > backBefore)
    }
    #expect(isRunning, "nothing moves after move \(number)", sourceLocation: sourceLocation)
  }
  out.stop()
  back.stop()
  #expect(arrival.finished.wait(seconds: 60), sourceLocation: sourceLocation)
  #expect(arrival.received == out.sent, sourceLocation: sourceLocation)
  if !isOneWay {
    #expect(echo.finished.wait(seconds: 60), sourceLocation: sourceLocation)
    #expect(echo.received == back.sent, sourceLocation: sourceLocation)
  }
  #expect((out.faults + back.faults + arrival.faults + echo.faults) == [], sourceLocation: sourceLocation)
  for visits in isOneWay ? [out, arrival] : [out, arrival, back, echo] {
    #expect(visits.count(.openCompleted) == 1, sourceLocation: sourceLocation)
  }
}
