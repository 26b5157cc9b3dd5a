// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import CLibEvent
import SocketStreams
import Testing

@Suite("Streams in a host's event loop", .timeLimit(.minutes(3)))
struct EmbeddingTests {
  // Rules 3 and 7 of the architecture; S99, S112.
  @Test(
    "streams of both directions share the host's loop with its timers", arguments: [Carrier.direct, .bound])
  func hostTimers(carrier: Carrier) throws {
    let host = HostProgram()
    let adopted = try EventBase(adopting: host.base)
    host.startTicking(every: 2)
    host.run()
    let link = try carrier.connect()
    let (out, arrival) = (Source(on: [adopted]), Sink(on: [adopted]))
    arrival.start(link.far.input)
    out.start(link.near.output)
    link.near.output.schedule(on: adopted)
    link.far.input.schedule(on: adopted)
    // Endless traffic, and yet the host's timer goes on.
    let (ticks, received) = (host.tickCount, arrival.received)
    #expect(eventually { host.tickCount >= ticks + 50 && arrival.received > received + 100_000 })
    out.stop()
    #expect(arrival.finished.wait(seconds: 20))
    #expect(arrival.received == out.sent)
    #expect(out.faults + arrival.faults == [])
    #expect(host.leave(adopted))
    #expect(host.eventCount == 1, "the host's timer")
    host.free()
  }

  // Rules 3 and 7 of the architecture; S111.
  @Test(
    "halves move under load between a host's base and one with a thread of its own",
    arguments: Carrier.allCases)
  func moves(carrier: Carrier) throws {
    let host = HostProgram()
    let adopted = try EventBase(adopting: host.base)
    host.run()
    let own = try EventBase.startThread(named: "own")
    try move(carrier, .both, between: [adopted, own], times: 200)
    #expect(host.leave(adopted))
    #expect(host.eventCount == 0)
    host.free()
    own.stop()
    own.join()
  }

  // Rule 7 of the architecture; S119.
  @Test("invalidate takes scheduled streams off the host's base, and they go on elsewhere")
  func invalidate() throws {
    let host = HostProgram()
    let adopted = try EventBase(adopting: host.base)
    host.run()
    let (near, far) = try StreamPair.connected()
    far.open()
    let told = Signal()
    near.input.setClient([.hasBytesAvailable, .endEncountered]) { stream, _ in
      _ = try? stream.read(upTo: 100)
      told.raise()
    }
    near.schedule(on: adopted)
    near.open()
    try far.output.write([1])
    #expect(told.wait(seconds: 20))
    #expect(host.leave(adopted))
    #expect(host.eventCount == 0)
    host.free()

    try far.output.write([2])
    let own = try EventBase.startThread(named: "own")
    near.schedule(on: own)
    #expect(told.wait(seconds: 20))
    far.close()
    #expect(told.wait(seconds: 20))
    near.close()
    own.stop()
    own.join()
  }

  // Rule 7 of the architecture; S22: a host that frees its base with open streams has said so by invalidate.
  @Test("a host that never runs its loop again invalidates, frees, and drops open streams without harm")
  func dropsAll() throws {
    for _ in 0..<50 {
      let host = HostProgram()
      let adopted = try EventBase(adopting: host.base)
      let (near, far) = try StreamPair.connected()
      near.schedule(on: adopted)
      far.schedule(on: adopted)
      near.open()
      far.open()
      try near.output.write([1, 2, 3])
      for _ in 0..<3 { event_base_loop(host.base, EVLOOP_NONBLOCK) }
      adopted.invalidate()
      #expect(host.eventCount == 0)
      host.free()
      #expect(try far.input.read(upTo: 10)?.withBytes { $0.byteCount } == 3)
    }
  }

  // Rule 7 of the architecture: an actor's isolation is the loop's.
  @Test("an actor that lives on a base uses its streams from its own functions")
  func actor() async throws {
    let base = try EventBase.startThread(named: "actor")
    let (near, far) = try StreamPair.connected()
    let echo = Echo(base)
    await echo.serve(far)
    near.open()
    for number in 0..<100 {
      let message = [UInt8](repeating: UInt8(number), count: 1 + number * 10)
      try near.output.write(message)
      var answer: [UInt8] = []
      while answer.count < message.count, near.input.waitUntilReady(timeout: .seconds(20)) {
        try near.input.read(upTo: 4_096)?.withBytes { bytes in bytes.withUnsafeBytes { answer += $0 } }
      }
      #expect(answer == message)
    }
    near.output.close()
    #expect(near.input.waitUntilReady(timeout: .seconds(20)))
    #expect(await echo.endings == 1)
    #expect(await echo.echoed == (0..<100).reduce(0) { $0 + 1 + $1 * 10 })
    base.stop()
    base.join()
  }
}

/// An echo server as an actor on an event base.
private actor Echo {
  nonisolated let base: EventBase
  private(set) var echoed = 0
  private(set) var endings = 0

  init(_ base: EventBase) { self.base = base }

  nonisolated var unownedExecutor: UnownedSerialExecutor { base.asUnownedSerialExecutor() }

  func serve(_ pair: StreamPair) {
    pair.input.setClient([.hasBytesAvailable, .endEncountered]) { stream, event in
      // The client is called on the base, which is where the actor lives.
      self.assumeIsolated { $0.handle(event, of: pair) }
    }
    pair.schedule(on: base)
    pair.open()
  }

  private func handle(_ event: StreamEvent, of pair: StreamPair) {
    guard event == .hasBytesAvailable else {
      endings += 1
      return pair.close()
    }
    echoed += pair.input.withAvailableBytes { (try? pair.output.write($0)) ?? 0 }
  }
}
