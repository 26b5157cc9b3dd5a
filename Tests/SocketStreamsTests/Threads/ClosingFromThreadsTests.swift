// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Ending streams from other threads", .timeLimit(.minutes(3)))
struct ClosingFromThreadsTests {
  enum Call: CaseIterable { case close, abort, removeClient, unschedule, drop }

  // S96, S98, S118; field report 16.
  @Test(
    "a call of another thread returns while the client is being called, and no call begins afterwards",
    arguments: Carrier.allCases, Call.allCases)
  func duringCallback(carrier: Carrier, call: Call) throws {
    let base = try EventBase.startThread(named: "delivery")
    let link = try carrier.connect()
    if carrier != .bound { link.far.open() }
    let tokens = Tokens()
    let calls = Shared(0)
    let (entered, leave) = (Signal(), Gate())
    let reader = Shared<ReadStream?>(link.near.input)
    link.near.input.setClient(.hasBytesAvailable) { [token = tokens.make()] stream, _ in
      calls.with { $0 += 1 }
      entered.raise()
      _ = leave.wait(seconds: 20)
      // Bytes are left, so that more is due as soon as this call has ended.
      _ = try? stream.read(upTo: 1)
      withExtendedLifetime(token) {}
    }
    link.near.input.schedule(on: base)
    try link.far.output.write([1, 2, 3])
    #expect(entered.wait(seconds: 20))
    let other = onThread {
      let stream = reader.with { $0.take() }
      switch call {
      case .close: stream?.close()
      case .abort: stream?.abort()
      case .removeClient: stream?.removeClient()
      case .unschedule: stream?.unschedule(from: base)
      case .drop: break
      }
    }
    #expect(other.wait(seconds: 20))
    _ = try? link.far.output.write([4, 5, 6])
    #expect(calls.value == 1)
    #expect(tokens.count == 1)
    leave.open()
    // Dropping one reference ends nothing: the link has others.
    if call == .drop { link.near.input.close() }
    for _ in 0..<3 { base.sync {} }
    if call != .drop { #expect(calls.value == 1) }
    if call == .unschedule { link.near.input.close() }
    #expect(eventually { tokens.count == 0 })
    base.stop()
    base.join()
  }

  // S96, S113, S118; field report 16.
  @Test("two loops that write into each other's streams and close them never wait for one another")
  func crossedLoops() throws {
    let bases = [try EventBase.startThread(named: "left"), try EventBase.startThread(named: "right")]
    let pairs = try (0..<20).map { _ in try StreamPair.connected() }
    let ended = Signal()
    for (left, right) in pairs {
      for (mine, other, base) in [(left, right, bases[0]), (right, left, bases[1])] {
        let count = Shared(0)
        mine.input.setClient([.hasBytesAvailable, .endEncountered]) { stream, event in
          if event == .hasBytesAvailable {
            _ = try? stream.read(upTo: 4_096)
            count.with { $0 += 1 }
            // Into the stream of the other loop, and of the other half of this one.
            _ = try? other.output.write([1])
            if count.value == 100 {
              other.output.close()
              mine.output.close()
            }
          } else {
            stream.close()
            ended.raise()
          }
        }
        mine.schedule(on: base)
        mine.open()
      }
    }
    // What left's loop writes into right.output comes back to itself, and sets it going.
    for (left, right) in pairs {
      try left.output.write([1])
      // By now the pair may have got through all of it.
      _ = try? right.output.write([1])
    }
    #expect(ended.wait(2 * pairs.count, seconds: 60))
    for base in bases {
      base.stop()
      base.join()
    }
  }

  // S22, S98, S118.
  @Test(
    "a scheduled stream whose last reference goes lives on, and ends on the thread that closes it",
    arguments: Carrier.allCases)
  func lastReference(carrier: Carrier) throws {
    let base = try EventBase.startThread(named: "keeper")
    for round in 0..<60 {
      let tokens = Tokens()
      let received = Signal()
      let stay: Shared<[AnyObject]> = Shared([])
      do {
        let link = try carrier.connect()
        if carrier != .bound { link.far.open() }
        link.near.input.setClient(.all) { [token = tokens.make()] stream, event in
          if event == .hasBytesAvailable { _ = try? stream.read(upTo: 10) }
          if event == .endEncountered {
            if round % 2 == 0 { stream.close() }
            received.raise()
          }
          withExtendedLifetime(token) {}
        }
        link.near.input.schedule(on: base)
        stay.with { $0 = [link.far.output] + [link.keeper].compactMap { $0 } }
        if carrier == .bufferevent { stay.with { $0.append(link.far.input) } }
      }
      // Only the base holds the read stream now; the last reference to the writer goes on a third thread.
      let dropper = onThread {
        let held = stay.with { objects in
          defer { objects = [] }
          return objects
        }
        _ = try? (held.first as? WriteStream)?.write([1, 2, 3])
      }
      #expect(dropper.wait(seconds: 20))
      #expect(received.wait(seconds: 20), "round \(round)")
      #expect(eventually { tokens.count == 0 })
    }
    base.stop()
    base.join()
  }

  // S48, S95, S96, S161; field reports 10, 17.
  @Test(
    "2,000 streams closed at random moments of their opening leave nothing behind and tell nothing afterwards"
  )
  func openThenClose() throws {
    let serverBase = try EventBase.startThread(named: "server")
    let bases = [try EventBase.startThread(named: "client 1"), try EventBase.startThread(named: "client 2")]
    let (accepted, gone) = (Shared(0), Shared(0))
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!, backlog: 1_000)
    listener.schedule(on: serverBase) { pair, _ in
      accepted.with { $0 += 1 }
      pair.input.setClient(.all) { [output = pair.output] stream, event in
        if event == .hasBytesAvailable { _ = try? stream.read(upTo: 100) }
        guard event == .endEncountered || event == .errorOccurred else { return }
        gone.with { $0 += 1 }
        stream.close()
        output.close()
      }
      pair.schedule(on: serverBase)
      pair.open()
    }
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Randoms(seed: seed)
    let tokens = Tokens()
    let late = Shared(0)
    for round in 0..<2_000 {
      let base = bases[round % 2]
      let isOver = Shared(false)
      let pair = StreamPair(address: listener.localAddress)
      pair.input.setClient(.all) { [token = tokens.make()] stream, event in
        if isOver.value { late.with { $0 += 1 } }
        withExtendedLifetime(token) {}
      }
      pair.output.setClient(.all) { [token = tokens.make()] stream, event in
        if isOver.value { late.with { $0 += 1 } }
        if event == .canAcceptBytes { _ = try? stream.write([1, 2, 3]) }
        withExtendedLifetime(token) {}
      }
      let schedulesFirst = Bool.random(using: &random)
      if schedulesFirst { pair.schedule(on: base) }
      pair.open()
      if !schedulesFirst { pair.schedule(on: base) }
      // A moment, not a condition: nothing depends on how long it is.
      let moment = UInt32.random(in: 0...300, using: &random)
      if moment > 20 { usleep(moment) }
      switch Int.random(in: 0...3, using: &random) {
      case 0: pair.close()
      case 1: pair.abort()
      case 2: base.sync { pair.close() }
      default:
        pair.output.close()
        pair.input.close()
      }
      // A call that had begun may finish; this waits for it.
      base.sync {}
      isOver.with { $0 = true }
    }
    #expect(eventually(within: 20) { tokens.count == 0 }, "seed \(seed)")
    #expect(eventually(within: 20) { gone.value == accepted.value }, "seed \(seed)")
    #expect(accepted.value > 0)
    #expect(late.value == 0, "seed \(seed)")
    listener.close()
    for base in bases + [serverBase] {
      base.stop()
      base.join()
    }
  }
}
