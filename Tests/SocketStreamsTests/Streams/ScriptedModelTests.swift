// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Random scripts over a pair with a scripted peer, on two real bases, checked against the invariants that hold for
// every script. A failure names the seed among the test's arguments; SOCKETSTREAMS_SEED plays it again.
//
// What a script does to a stream, it does on the thread of the base that the stream is on, so that no callback is
// under way meanwhile and every expectation is exact. What its peer does comes from the test's own thread.
import Glibc
import SocketStreams
import Testing

@Suite("Random lives of a pair on real bases")
struct ScriptedModelTests {
  // I1 to I8, I10 to I12; S77 to S98, S105 to S111, S127, S137, S148; D10, D11; P3
  @Test("no script breaks the rules", arguments: scriptSeeds(30))
  func anyScript(_ seed: UInt64) throws {
    let bases = [try EventBase.startThread(named: "one"), try EventBase.startThread(named: "two")]
    defer { for base in bases { base.stop() } }
    for offset in 0..<8 {
      try play(seed &+ UInt64(offset) &* 104_729, bases)
    }
  }

  private func play(_ seed: UInt64, _ bases: [EventBase]) throws {
    var generator = SeededGenerator(seed: seed)
    let script = try PairScript(seed, bases, opensAtOnce: generator.oneIn(2))
    for _ in 0..<(10 + generator.below(60)) { script.step(&generator) }
    script.finish()
    #expect(script.log.complaints == [], "seed \(seed): \(script.done.suffix(20))")
  }
}

/// What clients were told and what was done, with the rules that they must keep.
private final class ModelLog: @unchecked Sendable {
  // Everything is inside `Shared`.
  struct HalfState {
    var told: [StreamEvent] = []
    var toldToClient: [StreamEvent] = []
    var client = 0
    var depth = 0
    var isAnnounced = false
    var isClosed = false
    var isUnscheduled = true
  }

  struct State {
    var halves: [Half: HalfState] = [.read: HalfState(), .write: HalfState()]
    var complaints: [String] = []
    var read: [UInt8] = []
    var written: [UInt8] = []
  }

  let state = Shared(State())
  var complaints: [String] { state.value.complaints }

  func change(_ half: Half, _ body: (inout HalfState) -> Void) { state.with { body(&$0.halves[half]!) } }
  func half(_ half: Half) -> HalfState { state.value.halves[half]! }

  /// A callback starts.
  func enter(_ half: Half, _ event: StreamEvent, _ status: StreamStatus, client: Int, mask: StreamEvents) {
    state.with { state in
      var this = state.halves[half]!
      var complaints: [String] = []
      func must(_ isKept: Bool, _ rule: String) {
        if !isKept { complaints.append("\(half) \(event): \(rule)") }
      }
      must(this.depth == 0, "I12 inside another callback")
      must(mask.contains(StreamEvents(event)), "I5 not asked for")
      must(client == this.client, "I2 of a client that was replaced or removed")
      must(!this.isClosed, "I2 after close")
      must(!this.isUnscheduled, "after unschedule")
      must(
        this.told.last != .endEncountered && this.told.last != .errorOccurred, "I2 I3 after the last event")
      switch event {
      case .openCompleted:
        must(!this.told.contains(.openCompleted), "I1 twice")
        must(this.toldToClient.isEmpty, "I1 not first")
        must(status == .open || status == .atEnd || status == .error, "status \(status)")
      case .hasBytesAvailable, .canAcceptBytes:
        must(!this.isAnnounced, "I4 twice without a use")
        // The other half may find out about a failure at this moment, on its own base.
        must(status == .open || status == .error, "status \(status)")
        must(event == (half == .read ? .hasBytesAvailable : .canAcceptBytes), "of the other direction")
        this.isAnnounced = true
      case .endEncountered: must(status == .atEnd && half == .read, "status \(status)")
      case .errorOccurred: must(status == .error, "status \(status)")
      }
      must(status != .reading && status != .writing && status != .notOpen, "I6 status \(status)")
      this.told.append(event)
      this.toldToClient.append(event)
      this.depth += 1
      state.halves[half] = this
      state.complaints += complaints
    }
  }

  func leave(_ half: Half) { change(half) { $0.depth -= 1 } }

  func complain(_ text: String) { state.with { $0.complaints.append(text) } }
}

/// One script: a pair, its peer, and what was done.
private final class PairScript {
  let log = ModelLog()
  private(set) var done: [String] = []
  private let bases: [EventBase]
  private let pair: StreamPair
  private let peer: ScriptedPeer
  private var homes: [Half: EventBase] = [:]
  private var sent: [UInt8] = []
  private var hasEnded = false
  private var hasFailed = false
  private var isOpening = false
  private let opensAtOnce: Bool
  private var clients: [CClient] = []
  private let leaks = LeakCheck()

  init(_ seed: UInt64, _ bases: [EventBase], opensAtOnce: Bool) throws {
    self.bases = bases
    self.opensAtOnce = opensAtOnce
    (pair, peer) = StreamPair.scripted(opensAtOnce: opensAtOnce)
  }

  private func stream(_ half: Half) -> SocketStream { half == .read ? pair.input : pair.output }

  /// Does something to a half where no callback of it can be under way.
  private func at(_ half: Half, _ body: @Sendable () -> Void) {
    if let home = homes[half] { home.sync(body) } else { body() }
  }

  func step(_ generator: inout SeededGenerator) {
    let half = Half.allCases[generator.below(2)]
    let stream = stream(half)
    let log = log
    switch generator.below(15) {
    case 0:
      done.append("open \(half)")
      isOpening = true
      at(half) { stream.open() }
    case 1, 2:
      let base = bases[generator.below(2)]
      done.append("schedule \(half)")
      at(half) {
        log.change(half) { $0.isUnscheduled = false }
        stream.schedule(on: base)
      }
      homes[half] = base
    case 3:
      guard let home = homes[half] else { return }
      done.append("unschedule \(half)")
      at(half) {
        stream.unschedule(from: home)
        log.change(half) { $0.isUnscheduled = true }
      }
      homes[half] = nil
    case 4, 5: setClient(half, StreamEvents(rawValue: UInt(generator.below(32))), generator.below(3))
    case 6:
      done.append("removeClient \(half)")
      at(half) {
        stream.removeClient()
        log.change(half) {
          $0.client += 1; $0.isAnnounced = false; $0.toldToClient = []
        }
      }
    case 7, 8: read(1 + generator.below(40))
    case 9: write(1 + generator.below(40))
    case 10, 11:
      guard !hasEnded, !hasFailed else { return }
      let bytes = pattern(1 + generator.below(60), from: sent.count)
      done.append("peer sends \(bytes.count)")
      sent += bytes
      peer.send(bytes)
    case 12: act(&generator)
    case 13:
      let count = generator.oneIn(2) ? Int.max : generator.below(50)
      done.append("peer accepts \(count)")
      peer.accept(count)
    default: limit(&generator)
    }
  }

  /// What happens once in a while.
  private func act(_ generator: inout SeededGenerator) {
    switch generator.below(6) {
    case 0 where !hasEnded && !hasFailed:
      done.append("peer ends")
      hasEnded = true
      peer.end()
    case 1 where !hasEnded && !hasFailed:
      done.append("peer fails")
      hasFailed = true
      peer.fail(ECONNRESET)
    case 2: close(Half.allCases[generator.below(2)])
    case 3, 4:
      done.append("completeOpening")
      if isOpening { peer.completeOpening() }
    default: break
    }
  }

  private func limit(_ generator: inout SeededGenerator) {
    done.append("limits")
    peer.limitReads(to: 1 + generator.below(20))
    peer.limitWrites(to: 1 + generator.below(20))
  }

  private func close(_ half: Half) {
    done.append("close \(half)")
    let (pair, log) = (pair, log)
    at(half) {
      let wasOpened = (half == .read ? pair.input.status : pair.output.status) != .notOpen
      if half == .read { pair.input.close() } else { pair.output.close() }
      if wasOpened { log.change(half) { $0.isClosed = true } }
    }
  }

  /// Sets a closure or a C client that does nothing, or uses up what it is told of.
  private func setClient(_ half: Half, _ mask: StreamEvents, _ kind: Int) {
    done.append("setClient \(half) \(mask) \(kind)")
    let (pair, log) = (pair, log)
    let number = log.half(half).client + 1
    let isUsing = kind == 1
    if kind == 2, !mask.isEmpty {
      // A C client: its own log counts retains and releases.
      let client = CClient()
      clients.append(client)
      leaks.watch(client: client)
      client.insideReadCallback = { stream, event in
        log.enter(.read, event, stream.status, client: number, mask: mask)
        log.leave(.read)
      }
      client.insideWriteCallback = { stream, event in
        log.enter(.write, event, stream.status, client: number, mask: mask)
        log.leave(.write)
      }
      at(half) {
        log.change(half) {
          $0.client = number; $0.isAnnounced = false; $0.toldToClient = []
        }
        if half == .read { client.attach(to: pair.input, mask) } else { client.attach(to: pair.output, mask) }
      }
      return
    }
    at(half) {
      log.change(half) {
        $0.client = number; $0.isAnnounced = false; $0.toldToClient = []
      }
      switch half {
      case .read:
        pair.input.setClient(mask) { stream, event in
          log.enter(.read, event, stream.status, client: number, mask: mask)
          if isUsing, event == .hasBytesAvailable { PairScript.read(stream, 7, log) }
          log.leave(.read)
        }
      case .write:
        pair.output.setClient(mask) { stream, event in
          log.enter(.write, event, stream.status, client: number, mask: mask)
          if isUsing, event == .canAcceptBytes { PairScript.write(stream, 5, log) }
          log.leave(.write)
        }
      }
    }
  }

  private func read(_ count: Int) {
    done.append("read \(count)")
    let (input, log) = (pair.input, log)
    at(.read) { PairScript.read(input, count, log) }
  }

  private func write(_ count: Int) {
    done.append("write \(count)")
    let (output, log) = (pair.output, log)
    at(.write) { PairScript.write(output, count, log) }
  }

  private static func read(_ stream: ReadStream, _ count: Int, _ log: ModelLog) {
    log.change(.read) { $0.isAnnounced = false }
    if let bytes = try? readSome(stream, count) { log.state.with { $0.read += bytes } }
  }

  private static func write(_ stream: WriteStream, _ count: Int, _ log: ModelLog) {
    log.change(.write) { $0.isAnnounced = false }
    let bytes = pattern(count, from: log.state.value.written.count)
    if let taken = try? stream.write(bytes) { log.state.with { $0.written += bytes.prefix(taken) } }
  }

  // MARK: - The end of a script: liveness

  /// Lets everything go on that can, and expects it to come to its end.
  func finish() {
    done.append("finish")
    peer.accept(.max)
    peer.limitReads(to: 13)
    peer.limitWrites(to: .max)
    setUsingClients()
    for half in Half.allCases {
      let (stream, base, log) = (stream(half), bases[0], log)
      at(half) {
        log.change(half) { $0.isUnscheduled = false }
        stream.schedule(on: base)
      }
      homes[half] = base
      at(half) { stream.open() }
    }
    peer.completeOpening()
    if !hasEnded, !hasFailed { peer.end() }
    expectEnd()
    let (pair, log) = (pair, log)
    for half in Half.allCases {
      // I7
      at(half) { if half == .read { pair.input.close() } else { pair.output.close() } }
    }
    if !hasFailed {
      let isSent = eventually(within: 5) { peer.received.count == log.state.value.written.count }
      if !isSent || peer.received != log.state.value.written {
        log.complain("I7 what was taken was not sent")
      }
    } else if !log.state.value.written.starts(with: peer.received) {
      log.complain("I7 what was sent is not what was taken")
    }
    leaks.expectNone()
  }

  private func setUsingClients() {
    for half in Half.allCases { setClient(half, .all, 1) }
    // The writer must come to rest.
    let (output, log) = (pair.output, log)
    let number = log.half(.write).client + 1
    at(.write) {
      log.change(.write) {
        $0.client = number; $0.isAnnounced = false; $0.toldToClient = []
      }
      output.setClient(.all) { stream, event in
        log.enter(.write, event, stream.status, client: number, mask: .all)
        log.leave(.write)
      }
    }
  }

  /// I3, I10, I11: a reader that was not closed gets every byte, then its one last event.
  private func expectEnd() {
    let (input, log, sent) = (pair.input, log, sent)
    let before = log.half(.read)
    if before.isClosed {
      if !sent.starts(with: log.state.value.read) { log.complain("bytes out of order") }
      return
    }
    let last: StreamEvent = hasFailed ? .errorOccurred : .endEncountered
    let isOver = eventually(within: 5) { log.half(.read).told.last == last }
    if !isOver {
      log.complain(
        "I10 I11 no \(last); status \(input.status), told \(log.half(.read).told), "
          + "read \(log.state.value.read.count) of \(sent.count)")
    }
    let wasOpened =
      !hasFailed || log.half(.read).told.contains(.openCompleted) || !log.state.value.read.isEmpty
    if wasOpened, log.state.value.read != sent { log.complain("I3 S127 not every byte before \(last)") }
  }
}
