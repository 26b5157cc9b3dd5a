// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Random scripts over the schedule of a client that stays connected, checked against what holds for every script. A
// failure names the seed; the environment variable SOCKETSTREAMS_SEED plays it again.
import Testing

@testable import SocketStreams

@Suite("Random lives of a client that stays connected")
struct ReconnectModelTests {
  enum Step: CaseIterable { case start, byHand, stop, connected, failed, over, waited, late }

  /// A schedule, and the world that it acts on.
  private struct Model {
    var life: ReconnectSchedule
    let policy: ReconnectPolicy
    var generator: SeededGenerator
    var script: [Step] = []
    /// The attempts that were begun and not dropped or handed over: one at most.
    var attempts: [Int] = []
    /// The connections that were handed over and are not over: one at most.
    var connections: [Int] = []
    /// The waits that go on: one at most.
    var waits: [Int] = []
    var failures = 0
    var isStopped = true
    var highest = 0

    init(_ seed: UInt64) {
      generator = SeededGenerator(seed: seed)
      policy = ReconnectPolicy(
        initialDelay: .milliseconds(generator.below(200)), factor: Double(generator.below(50)) / 10,
        maximumDelay: .milliseconds(generator.below(5_000)), jitter: Double(generator.below(11)) / 10,
        attempts: generator.oneIn(2) ? nil : generator.below(4))
      life = ReconnectSchedule(policy)
    }

    var random: Double { mutating get { Double.random(in: 0...1, using: &generator) } }

    mutating func play(_ step: Step) {
      script.append(step)
      let old = highest == 0 ? 0 : 1 + generator.below(highest)
      switch step {
      case .start:
        if isStopped { failures = 0 }
        isStopped = false
        take(life.startRequested())
      case .byHand:
        (failures, isStopped) = (0, false)
        take(life.connectRequested())
      case .stop:
        isStopped = true
        take(life.stopRequested())
        #expect(attempts == [] && waits == [], "nothing is left running")
      case .connected:
        guard let id = attempts.first else { return }
        failures = 0
        take(life.attemptConnected(id))
        #expect(connections == [id])
      case .failed:
        guard let id = attempts.first else { return }
        failures += 1
        take(life.attemptFailed(id, random: random))
      case .over:
        guard let id = connections.first ?? attempts.first else { return }
        if connections == [] { failures += 1 }
        connections = []
        take(life.connectionOver(id, random: random))
      case .waited:
        guard let id = waits.first else { return }
        waits = []
        take(life.waitEnded(id))
        #expect(attempts.count == 1, "a wait ends with an attempt")
      case .late: late(old)
      }
      check()
    }

    /// What is told of attempts, waits and connections that are no more.
    private mutating func late(_ id: Int) {
      if !waits.contains(id) { #expect(life.waitEnded(id) == []) }
      guard !attempts.contains(id), !connections.contains(id) else { return }
      #expect(life.attemptConnected(id) == [] && life.attemptFailed(id, random: random) == [])
      #expect(life.connectionOver(id, random: random) == [])
    }

    private mutating func take(_ effects: [ReconnectSchedule.Effect]) {
      for effect in effects {
        switch effect {
        case .connect(let id, let attempt):
          // M2
          #expect(attempts == [] && connections == [] && waits == [], "never beside another")
          #expect(!isStopped, "stopped means no more")
          #expect(attempt == failures + 1)
          #expect(id > highest, "a number of its own")
          highest = id
          attempts.append(id)
        case .drop(let id):
          #expect(attempts == [id])
          attempts = []
        case .handOver(let id):
          #expect(attempts == [id])
          (attempts, connections) = ([], connections + [id])
        case .wait(let id, let delay):
          #expect(attempts == [] && connections == [] && waits == [] && id > highest && !isStopped)
          let longest = max(policy.maximumDelay, .milliseconds(1))
          #expect(delay >= .milliseconds(1) && delay <= longest)
          highest = id
          waits.append(id)
        case .cancelWait:
          #expect(waits.count == 1)
          waits = []
        case .giveUp:
          // Field report 71
          #expect(failures == max(policy.attempts ?? .max, 1), "after as many failures as were allowed")
          isStopped = true
        }
      }
    }

    private func check() {
      #expect(life.isStopped == isStopped)
      #expect(attempts.count + waits.count + connections.count <= 1, "one thing at a time")
      if !isStopped { #expect(attempts.count + waits.count + connections.count == 1, "never forgotten") }
      for id in attempts { #expect(life.isConnecting(id)) }
      for id in waits { #expect(life.isWaiting(id)) }
      if let limit = policy.attempts, !isStopped { #expect(failures < max(limit, 1)) }
    }
  }

  // M1, M2, field reports 70 and 71
  @Test("no script breaks the rules", arguments: scriptSeeds(40))
  func anyScript(_ seed: UInt64) {
    for offset in 0..<20 {
      var model = Model(seed &+ UInt64(offset) &* 7_919)
      let length = 5 + model.generator.below(80)
      for _ in 0..<length { model.play(Step.allCases[model.generator.below(Step.allCases.count)]) }
      model.play(.stop)
    }
  }
}
