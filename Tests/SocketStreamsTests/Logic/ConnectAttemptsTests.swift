// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import Testing

@testable import SocketStreams

@Suite("The race of a connection's addresses")
struct ConnectAttemptsTests {
  typealias Effect = ConnectAttempts.Effect

  // A6
  @Test("families alternate, beginning with the first address's, and each keeps its order")
  func interleaving() {
    let v4 = (1...4).map { v4Address($0) }
    let v6 = (1...4).map { v6Address($0) }
    let interleaved = ConnectAttempts.interleaved
    #expect(interleaved([]) == [])
    #expect(interleaved([v4[0], v4[1]]) == [v4[0], v4[1]])
    #expect(interleaved([v6[0], v6[1], v4[0], v4[1]]) == [v6[0], v4[0], v6[1], v4[1]])
    #expect(interleaved([v4[0], v6[0], v6[1], v6[2]]) == [v4[0], v6[0], v6[1], v6[2]])
    #expect(interleaved([v6[0], v6[1], v6[2], v4[0]]) == [v6[0], v4[0], v6[1], v6[2]])
    #expect(interleaved([v4[2], v6[3], v4[0], v6[1]]) == [v4[2], v6[3], v4[0], v6[1]])
  }

  // A6
  @Test(
    "the attempt delay is moved into 100 ms to 2 s",
    arguments: [
      (0, 100), (-5, 100), (99, 100), (100, 100), (250, 250), (2000, 2000), (2001, 2000), (90_000, 2000),
    ])
  func delayClamp(wanted: Int, allowed: Int) {
    #expect(ConnectAttempts.allowedDelay(.milliseconds(wanted)) == .milliseconds(allowed))
  }

  // A5, S52
  @Test("a failed attempt starts the next at once, and the delay anew while addresses are left")
  func failureStartsTheNext() {
    var race = ConnectAttempts()
    #expect(race.resolved(addresses(3)) == [.start(0, v4Address(1)), .startDelay])
    #expect(race.attemptFailed(0, code: ECONNREFUSED) == [.end(0), .start(1, v4Address(2)), .startDelay])
    #expect(race.attemptFailed(1, code: EHOSTUNREACH) == [.end(1), .start(2, v4Address(3))])
    #expect(race.attemptConnected(2) == [.finish(.connected(2))])
  }

  // A6
  @Test("an attempt that takes longer than the delay gets the next beside it, and goes on itself")
  func delayStartsTheNext() {
    var race = ConnectAttempts()
    _ = race.resolved(addresses(3))
    #expect(race.delayPassed() == [.start(1, v4Address(2)), .startDelay])
    #expect(race.delayPassed() == [.start(2, v4Address(3))])
    #expect(race.delayPassed() == [])
    #expect(race.attemptConnected(0) == [.end(1), .end(2), .finish(.connected(0))])
  }

  @Test("the loser of a race is closed, and its late success changes nothing")
  func lateSuccess() {
    var race = ConnectAttempts()
    _ = race.resolved(addresses(2))
    _ = race.delayPassed()
    #expect(race.attemptConnected(1) == [.end(0), .finish(.connected(1))])
    #expect(race.attemptConnected(0) == [])
    #expect(race.attemptFailed(0, code: ECONNRESET) == [])
    #expect(race.delayPassed() == [])
    #expect(race.deadlinePassed(code: ETIMEDOUT) == [])
    #expect(race.cancelled() == [])
  }

  // A10, S52, report 61
  @Test("when all fail, the error has the last attempt's code and lists every attempt in order")
  func allFailed() {
    var race = ConnectAttempts()
    _ = race.resolved(addresses(3))
    _ = race.delayPassed()
    _ = race.delayPassed()
    #expect(race.attemptFailed(2, code: ECONNREFUSED) == [.end(2)])
    #expect(race.attemptFailed(0, code: ETIMEDOUT) == [.end(0)])
    let tried = zip(addresses(3), [ETIMEDOUT, ENETUNREACH, ECONNREFUSED])
    let error = StreamError(
      .posix, code: ECONNREFUSED, operation: "connect",
      attempts: tried.map { ConnectAttempt(address: $0, code: $1) })
    #expect(race.attemptFailed(1, code: ENETUNREACH) == [.end(1), .finish(.failed(error))])
  }

  // A8, A10, S57
  @Test(
    "the deadline ends every running attempt and lists it as timed out; addresses not tried are not listed")
  func deadline() {
    var race = ConnectAttempts()
    _ = race.resolved(addresses(4))
    _ = race.attemptFailed(0, code: ECONNREFUSED)
    _ = race.delayPassed()
    let tried = zip(addresses(3), [ECONNREFUSED, ETIMEDOUT, ETIMEDOUT])
    let error = StreamError(
      .posix, code: ETIMEDOUT, operation: "connect",
      attempts: tried.map { ConnectAttempt(address: $0, code: $1) })
    #expect(race.deadlinePassed(code: ETIMEDOUT) == [.end(1), .end(2), .finish(.failed(error))])
  }

  // B4
  @Test("the deadline covers the look-up, whose late answer changes nothing")
  func deadlineDuringLookup() {
    var race = ConnectAttempts()
    let error = StreamError.posix(ETIMEDOUT, "connect")
    #expect(race.deadlinePassed(code: ETIMEDOUT) == [.cancelLookup, .finish(.failed(error))])
    #expect(race.resolved(addresses(2)) == [])
  }

  // S166
  @Test("a failed look-up is the outcome, in its own words")
  func lookupFailed() {
    var race = ConnectAttempts()
    let error = StreamError(.resolver, code: EAI_NONAME, operation: "resolve no.such")
    #expect(race.lookupFailed(error) == [.finish(.failed(error))])
    #expect(race.lookupFailed(error) == [])
  }

  // A9
  @Test("cancelling ends what runs and finishes nothing")
  func cancel() {
    var lookingUp = ConnectAttempts()
    #expect(lookingUp.cancelled() == [.cancelLookup])
    #expect(lookingUp.resolved(addresses(1)) == [])

    var racing = ConnectAttempts()
    _ = racing.resolved(addresses(3))
    _ = racing.delayPassed()
    #expect(racing.cancelled() == [.end(0), .end(1)])
    #expect(racing.attemptConnected(1) == [])
    #expect(racing.deadlinePassed(code: ETIMEDOUT) == [])
  }

  // A failure names its seed; SOCKETSTREAMS_SEED=<seed> runs that one alone.
  @Test("whatever happens in whatever order, there is one outcome, and each attempt ends once")
  func model() {
    let replayed = getenv("SOCKETSTREAMS_SEED").flatMap { UInt64(String(cString: $0)) }
    for seed in replayed.map({ $0...$0 }) ?? 0...3999 {
      var random = SplitMix(state: seed)
      var checker = RaceChecker(addresses: randomAddresses(&random))
      for _ in 0..<60 where !checker.step(&random) { break }
      #expect(checker.faults == [], "seed \(seed)")
    }
  }

  // MARK: - Material

  private func v4Address(_ last: Int) -> SocketAddress {
    SocketAddress(.ipv4(0x7F00_0000 + UInt32(last), port: 1))
  }

  private func v6Address(_ last: Int) -> SocketAddress {
    SocketAddress(.ipv6(high: 0, low: UInt64(last), port: 1, scope: 0))
  }

  private func addresses(_ count: Int) -> [SocketAddress] { (1...count).map { v4Address($0) } }

  private func randomAddresses(_ random: inout SplitMix) -> [SocketAddress] {
    (1...Int.random(in: 1...7, using: &random)).map {
      Bool.random(using: &random) ? v4Address($0) : v6Address($0)
    }
  }
}

/// Drives a race with random events, also ones that come too late, and holds its effects to the rules.
private struct RaceChecker {
  private var race = ConnectAttempts()
  private let addresses: [SocketAddress]
  private var started: [SocketAddress] = []
  private var ended: Set<Int> = []
  private var codes: [Int: Int32] = [:]
  private var outcomes: [ConnectAttempts.Outcome] = []
  private var isCancelled = false
  private(set) var faults: [String] = []

  init(addresses: [SocketAddress]) { self.addresses = addresses }

  /// - Returns: `false` when a fault was found.
  mutating func step(_ random: inout SplitMix) -> Bool {
    let id = started.isEmpty ? nil : Int.random(in: 0..<started.count, using: &random)
    let code = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH].randomElement(using: &random)!
    switch (Int.random(in: 0..<20, using: &random), id) {
    case (0, _): check(race.resolved(addresses))
    case (1, _) where started.isEmpty:
      check(race.lookupFailed(.posix(EIO, "resolve")))
    case (2, _): endAll(ETIMEDOUT) { $0.deadlinePassed(code: ETIMEDOUT) }
    case (3, _) where Int.random(in: 0..<4, using: &random) == 0:
      let effects = race.cancelled()
      isCancelled = true
      check(effects)
    case (4...7, _): check(race.delayPassed())
    case (8...9, let id?): check(race.attemptConnected(id))
    case (_, let id?):
      if !ended.contains(id), outcomes.isEmpty { codes[id] = code }
      check(race.attemptFailed(id, code: code))
    default: check(race.resolved(addresses))
    }
    checkState()
    return faults.isEmpty
  }

  private mutating func endAll(_ code: Int32, _ event: (inout ConnectAttempts) -> [ConnectAttempts.Effect]) {
    if outcomes.isEmpty { for id in started.indices where !ended.contains(id) { codes[id] = code } }
    check(event(&race))
  }

  private mutating func check(_ effects: [ConnectAttempts.Effect]) {
    for effect in effects {
      switch effect {
      case .start(let id, let address):
        require(id == started.count, "attempts start in order")
        require(outcomes.isEmpty && !isCancelled, "nothing starts after the end")
        started.append(address)
      case .end(let id):
        require(id < started.count && ended.insert(id).inserted, "attempt \(id) ends once, after its start")
      case .startDelay:
        require(started.count < addresses.count, "a delay is for an address that is left")
      case .cancelLookup:
        require(started.isEmpty, "a look-up is cancelled before its answer")
      case .finish(let outcome):
        outcomes.append(outcome)
        require(effect == effects.last, "the outcome comes last")
        check(outcome)
      }
    }
  }

  private mutating func check(_ outcome: ConnectAttempts.Outcome) {
    require(!isCancelled, "nothing finishes after a cancel")
    switch outcome {
    case .connected(let id):
      require(!ended.contains(id) && id < started.count, "the winner was running")
      require(ended.count == started.count - 1, "every other attempt has ended")
    case .failed(let error):
      require(ended.count == started.count, "every attempt has ended")
      require(error.code != 0, "a failure has a code")
      let listed = error.attempts.map(\.address)
      require(listed == started, "the error lists what was tried, in order")
      require(error.attempts.map(\.code) == started.indices.map { codes[$0] ?? 0 }, "with each one's code")
    }
  }

  private mutating func checkState() {
    require(outcomes.count <= 1, "one outcome")
    let running = started.count - ended.count
    if !outcomes.isEmpty || isCancelled {
      var winners = 0
      if case .connected? = outcomes.first { winners = 1 }
      require(running == winners, "after the end only the winner is left")
    } else if !started.isEmpty {
      require(running > 0, "an undecided race has a runner")
      let expected = ConnectAttempts.interleaved(addresses).prefix(started.count)
      require(Array(expected) == started, "addresses are tried in the interleaved order")
    }
  }

  private mutating func require(_ condition: Bool, _ rule: String) {
    if !condition { faults.append(rule) }
  }
}

/// A small generator that gives the same numbers for the same seed.
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
