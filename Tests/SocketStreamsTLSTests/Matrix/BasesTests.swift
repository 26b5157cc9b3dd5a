// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Secured pairs on one base, on two, on none, and on the move.
#if TLS

import SocketStreams
import SocketStreamsTLS
import Testing

@Suite("Secured pairs and bases", .timeLimit(.minutes(5)))
struct BasesTests {
  enum Moved: CaseIterable { case reader, writer, both }

  /// Two ends of one secured connection, not opened: `near` connects, and `far` was accepted.
  private func link(_ version: TLSVersion, port gate: (UInt16) throws -> UInt16 = { $0 }) throws -> (
    near: StreamPair, far: () -> StreamPair?
  ) {
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let base = try EventBase.startThread(named: "accept")
    let accepted = Shared<StreamPair?>(nil)
    let serving = try TLSSettings.serving { $0.maximumVersion = version }
    listener.schedule(on: base) { [listener, accepted] pair, _ in
      try? pair.startTLS(serving)
      accepted.with { $0 = pair }
      listener.close()
    }
    let near = StreamPair(host: "localhost", port: try gate(try #require(listener.localAddress.port)))
    try near.startTLS(.trusting())
    return (
      near,
      {
        let came = eventually(within: 60) { accepted.value != nil }
        base.stop()
        base.join()
        return came ? accepted.value : nil
      }
    )
  }

  private func withBases(_ body: (EventBase, EventBase) throws -> Void) throws {
    let (first, second) = (
      try EventBase.startThread(named: "first"), try EventBase.startThread(named: "second")
    )
    try body(first, second)
    for base in [first, second] {
      base.stop()
      base.join()
    }
  }

  // S110, S111, S112, J1; rule 3 of the architecture
  @Test(
    "a half that moves many times under load, from before the handshake on, loses and repeats nothing",
    arguments: TLSVersion.both, Moved.allCases)
  func moves(version: TLSVersion, moved: Moved) throws {
    try withBases { first, second in
      let bases = [first, second]
      let (near, farComes) = try link(version)
      let (out, back) = (Source(on: bases), Source(on: bases))
      let (arrival, echo) = (Sink(on: bases), Sink(on: bases))
      near.input.schedule(on: first)
      near.output.schedule(on: second)
      echo.start(near.input)
      out.start(near.output)
      let far = try #require(farComes())
      far.input.schedule(on: second)
      far.output.schedule(on: first)
      arrival.start(far.input)
      back.start(far.output)
      for number in 0..<(isSanitized ? 100 : 300) {
        let base = bases[number % 2]
        if moved != .writer { near.input.schedule(on: base) }
        if moved != .reader { near.output.schedule(on: base) }
        // Some moves follow one another at once; after the others both directions have to go on.
        if number % 3 == 0 { continue }
        let (before, backBefore) = (arrival.received, echo.received)
        try #require(
          eventually(within: 60) { arrival.received > before && echo.received > backBefore },
          "nothing moves after move \(number)")
      }
      out.stop()
      back.stop()
      #expect(arrival.finished.wait(seconds: 60) && echo.finished.wait(seconds: 60))
      #expect(arrival.received == out.sent && echo.received == back.sent)
      #expect(out.faults + back.faults + arrival.faults + echo.faults == [])
      for visits in [out, arrival, back, echo] { #expect(visits.count(.openCompleted) == 1) }
    }
  }

  // S110, S111, J1
  @Test(
    "a half that moves while the handshake is held up gets what is due on its new base",
    arguments: Moved.allCases, [true, false])
  func movesInHandshake(moved: Moved, unschedules: Bool) throws {
    let server = try PythonServer("echo")
    try withBases { first, second in
      let relay = try HeldRelay(to: server.port)
      let log = PairLog()
      let pair = StreamPair(host: "localhost", port: relay.port)
      try pair.startTLS(.trusting())
      let strays = Shared(0)
      let isMoved = Shared(false)
      // Those that moved are called elsewhere, and those that did not, where they were.
      let check: @Sendable (Bool) -> Void = { [weak first] hasMoved in
        if isMoved.value, first?.isCurrent == hasMoved { strays.with { $0 += 1 } }
      }
      log.watch(pair.input) { _, _ in check(moved != .writer) }
      log.watch(pair.output) { _, _ in check(moved != .reader) }
      pair.schedule(on: first)
      pair.open()
      #expect(
        log.hears(.openCompleted, .input, within: 30) && log.hears(.openCompleted, .output, within: 30))
      #expect(relay.hasClient())
      pass(first)
      isMoved.with { $0 = true }
      let streams: [SocketStream] =
        switch moved {
        case .reader: [pair.input]
        case .writer: [pair.output]
        case .both: [pair.input, pair.output]
        }
      for stream in streams {
        if unschedules { stream.unschedule(from: first) }
        stream.schedule(on: second)
      }
      relay.release()
      #expect(log.hears(.canAcceptBytes, .output, within: 60))
      #expect(try pair.output.write(pattern(5_000)) == 5_000)
      #expect(eventually(within: 60) { log.bytes == pattern(5_000) })
      pair.output.close()
      #expect(log.hears(.endEncountered, .input, within: 60))
      #expect(log.events(.output).starts(with: [.openCompleted, .canAcceptBytes]))
      #expect(strays.value == 0)
    }
  }

  // S110, J1
  @Test("a pair that left its base before the handshake is done goes on when it is scheduled again")
  func unscheduledInHandshake() throws {
    let server = try PythonServer("echo")
    try withBases { first, second in
      let relay = try HeldRelay(to: server.port)
      let log = PairLog()
      let pair = StreamPair(host: "localhost", port: relay.port)
      try pair.startTLS(.trusting())
      log.watch(pair, on: first)
      pair.open()
      #expect(
        log.hears(.openCompleted, .input, within: 30) && log.hears(.openCompleted, .output, within: 30))
      pair.unschedule(from: first)
      #expect(relay.hasClient())
      relay.release()
      pass(first)
      #expect(log.all.count == 2)
      pair.schedule(on: second)
      #expect(log.hears(.canAcceptBytes, .output, within: 60))
      // Half way in events, half way without.
      pair.unschedule(from: second)
      #expect(try writeAll(pattern(100_000), to: pair.output) == 100_000)
      #expect(try read(100_000, from: pair.input) == pattern(100_000))
      pair.output.close()
      #expect(try readToEnd(pair.input) == [])
    }
  }

  // J1; rule 3 of the architecture
  @Test("the halves of a pair may be on two bases", arguments: TLSVersion.both)
  func twoBases(version: TLSVersion) throws {
    let server = try SecureServer(.serving { $0.maximumVersion = version })
    try withBases { first, second in
      let pair = StreamPair(host: "localhost", port: server.port)
      try pair.startTLS(.trusting())
      let (source, sink) = (Source(on: [second]), Sink(on: [first]))
      sink.start(pair.input)
      source.start(pair.output)
      pair.input.schedule(on: first)
      pair.output.schedule(on: second)
      #expect(eventually(within: 60) { sink.received > (isSanitized ? 1_000_000 : 10_000_000) })
      source.stop()
      #expect(sink.finished.wait(seconds: 60))
      #expect(sink.received == source.sent && sink.faults + source.faults == [])
    }
  }

  // J1
  @Test("only one half scheduled is enough for the handshake", arguments: [true, false])
  func oneScheduled(isInput: Bool) throws {
    let server = try PythonServer("echo")
    try withBases { base, _ in
      let log = PairLog()
      let pair = StreamPair(host: "localhost", port: server.port)
      try pair.startTLS(.trusting())
      log.watch(pair)
      if isInput { pair.input.schedule(on: base) } else { pair.output.schedule(on: base) }
      pair.open()
      #expect(eventually(within: 60) { pair.output.property(.tlsPeer) != nil })
      #expect(try writeAll(pattern(70_000), to: pair.output) == 70_000)
      if isInput {
        #expect(eventually(within: 60) { log.bytes == pattern(70_000) })
      } else {
        #expect(try read(70_000, from: pair.input) == pattern(70_000))
      }
      pair.abort()
    }
  }

  // C4, J1
  @Test("a pair whose read stream was dropped secures, sends, and ends properly", arguments: [true, false])
  func onlyOutput(isScheduled: Bool) throws {
    let server = try PythonServer("answer")
    try withBases { base, _ in
      let pair = StreamPair(host: "localhost", port: server.port)
      try pair.startTLS(.trusting())
      let output = pair.output
      try send(output, dropping: pair, on: isScheduled ? base : nil)
      server.expect("got 200000 same end notice")
    }
  }

  private func send(_ output: WriteStream, dropping pair: consuming StreamPair, on base: EventBase?) throws {
    _ = consume pair
    if let base { output.schedule(on: base) }
    output.open()
    #expect(try writeAll(pattern(200_000), to: output, seconds: 60) == 200_000)
    output.close()
  }

  // C4, J1
  @Test("a pair whose write stream was dropped secures and reads to the end", arguments: [true, false])
  func onlyInput(isScheduled: Bool) throws {
    let server = try PythonServer("burst", "localhost", chain: nil, "--count", "200000")
    try withBases { base, _ in
      let input = try securedInput(server.port)
      if isScheduled {
        let log = PairLog()
        log.watch(input, on: base)
        input.open()
        #expect(log.hears(.endEncountered, .input, within: 60))
        #expect(log.bytes == pattern(200_000))
      } else {
        input.open()
        #expect(try readToEnd(input, seconds: 60) == pattern(200_000))
      }
    }
  }

  // S162, J15
  @Test("a pair whose write stream was dropped says close_notify with its last close")
  func onlyInputEnds() throws {
    let server = try PythonServer("echo")
    let input = try securedInput(server.port)
    input.open()
    // Asking goes on with the handshake, as there is no base.
    #expect(eventually(within: 60) { !input.hasBytesAvailable && input.property(.tlsPeer) != nil })
    input.close()
    server.expect("echoed 0 end notice")
  }

  private func securedInput(_ port: UInt16) throws -> ReadStream {
    let pair = StreamPair(host: "localhost", port: port)
    try pair.startTLS(.trusting())
    return pair.input
  }
}

#endif
