// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// When a client that stays connected tries again: the waits as tables, the schedule step by step.
import Testing

@testable import SocketStreams

@Suite("The waits between attempts")
struct ReconnectDelaysTests {
  /// The first waits in milliseconds, with the same chance each time.
  private func waits(_ count: Int, _ policy: ReconnectPolicy, random: Double = 0) -> [Duration] {
    var delays = ReconnectDelays(policy)
    return (0..<count).map { _ in delays.take(random: random) }
  }

  // M1
  @Test("half a second, then twice as long each time, up to half a minute")
  func defaults() {
    #expect(
      waits(9, ReconnectPolicy())
        == [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000].map {
          .milliseconds($0)
        })
  }

  // M1
  @Test(
    "chance takes away the part that it may, and adds nothing",
    arguments: [
      (jitter: 0.2, random: 0.0, first: 1_000), (0.2, 1.0, 800), (0.2, 0.5, 900), (0.0, 1.0, 1_000),
      (1.0, 0.25, 750), (1.0, 1.0, 1), (7.0, 0.5, 500), (-1.0, 1.0, 1_000), (.nan, 1.0, 1_000),
      (0.2, .nan, 1_000), (0.2, -3.0, 1_000), (0.2, 3.0, 800),
    ])
  func jitter(_ row: (jitter: Double, random: Double, first: Int)) {
    let policy = ReconnectPolicy(initialDelay: .seconds(1), maximumDelay: .seconds(1), jitter: row.jitter)
    #expect(waits(2, policy, random: row.random) == [.milliseconds(row.first), .milliseconds(row.first)])
  }

  @Test(
    "a factor below 1, or none at all, keeps the delay; one without bounds leads to the longest at once",
    arguments: [
      (factor: 1.0, second: 10), (0.5, 10), (-2, 10), (.nan, 10), (-.infinity, 10), (1.5, 15), (3, 30),
      (1e300, 1_000), (.infinity, 1_000),
    ])
  func factors(_ row: (factor: Double, second: Int)) {
    let policy = ReconnectPolicy(
      initialDelay: .milliseconds(10), factor: row.factor, maximumDelay: .seconds(1), jitter: 0)
    #expect(waits(2, policy) == [.milliseconds(10), .milliseconds(row.second)])
  }

  @Test(
    "no delay is below a millisecond or above the longest, whatever was asked for",
    arguments: [
      (initial: Duration.zero, maximum: Duration.seconds(1), first: Duration.milliseconds(1)),
      (.seconds(-5), .seconds(1), .milliseconds(1)), (.nanoseconds(1), .seconds(1), .milliseconds(1)),
      (.seconds(5), .seconds(1), .seconds(1)), (.seconds(5), .zero, .milliseconds(1)),
      (.seconds(5), .seconds(-1), .milliseconds(1)),
      (.seconds(Int64.max), .seconds(Int64.max), .seconds(100 * 365 * 86_400)),
    ])
  func bounds(_ row: (initial: Duration, maximum: Duration, first: Duration)) {
    let policy = ReconnectPolicy(initialDelay: row.initial, maximumDelay: row.maximum, jitter: 0)
    #expect(waits(1, policy) == [row.first])
  }

  @Test("ten thousand waits in a row overflow nothing")
  func many() {
    let policy = ReconnectPolicy(factor: 1e200, maximumDelay: .seconds(Int64.max), jitter: 1)
    var delays = ReconnectDelays(policy)
    for _ in 0..<10_000 { #expect(delays.take(random: 0) <= .seconds(100 * 365 * 86_400)) }
    delays.reset()
    #expect(delays.take(random: 0) == .milliseconds(500))
  }
}

@Suite("When a client tries again")
struct ReconnectScheduleTests {
  private typealias Effect = ReconnectSchedule.Effect

  private func schedule(attempts: Int? = nil) -> ReconnectSchedule {
    ReconnectSchedule(ReconnectPolicy(initialDelay: .milliseconds(100), jitter: 0, attempts: attempts))
  }

  // M1, A23
  @Test("it connects at once, hands over, and waits the first delay after a loss")
  func life() {
    var life = schedule()
    #expect(life.isStopped)
    #expect(life.startRequested() == [.connect(1, attempt: 1)])
    #expect(life.isConnecting(1) && !life.isStopped)
    #expect(life.attemptConnected(1) == [.handOver(1)])
    #expect(life.connectionOver(1, random: 0) == [.wait(2, .milliseconds(100))])
    #expect(life.isWaiting(2) && !life.isWaiting(1))
    #expect(life.waitEnded(2) == [.connect(3, attempt: 1)])
  }

  // M1
  @Test("failures in a row make the waits grow, and a success starts them afresh")
  func growth() {
    var life = schedule()
    #expect(life.startRequested() == [.connect(1, attempt: 1)])
    #expect(life.attemptFailed(1, random: 0) == [.drop(1), .wait(2, .milliseconds(100))])
    #expect(life.waitEnded(2) == [.connect(3, attempt: 2)])
    #expect(life.attemptFailed(3, random: 0) == [.drop(3), .wait(4, .milliseconds(200))])
    #expect(life.waitEnded(4) == [.connect(5, attempt: 3)])
    #expect(life.attemptConnected(5) == [.handOver(5)])
    #expect(life.connectionOver(5, random: 0) == [.wait(6, .milliseconds(100))])
    #expect(life.waitEnded(6) == [.connect(7, attempt: 1)])
    #expect(life.attemptFailed(7, random: 0) == [.drop(7), .wait(8, .milliseconds(200))])
  }

  // Field report 62, M2
  @Test("starting again while it runs changes nothing")
  func startTwice() {
    var life = schedule()
    #expect(life.startRequested() == [.connect(1, attempt: 1)])
    #expect(life.startRequested() == [])
    #expect(life.attemptFailed(1, random: 0).count == 2)
    #expect(life.startRequested() == [] && life.isWaiting(2))
    #expect(life.waitEnded(2) == [.connect(3, attempt: 2)])
    #expect(life.attemptConnected(3) == [.handOver(3)])
    #expect(life.startRequested() == [])
  }

  // M2
  @Test("a connect by hand cuts a wait short, and starts no second attempt beside one")
  func byHand() {
    var life = schedule()
    #expect(life.connectRequested() == [.connect(1, attempt: 1)], "it starts a client that was stopped")
    #expect(life.connectRequested() == [], "an attempt runs")
    _ = life.attemptFailed(1, random: 0)
    _ = life.waitEnded(2)
    _ = life.attemptFailed(3, random: 0)
    #expect(life.connectRequested() == [.cancelWait, .connect(5, attempt: 1)])
    #expect(life.waitEnded(4) == [], "that wait is over")
    #expect(life.attemptConnected(5) == [.handOver(5)])
    #expect(life.connectRequested() == [], "it is connected")
  }

  // Field report 71
  @Test("the count of failures starts afresh after a success and after a connect by hand")
  func counts() {
    var life = schedule(attempts: 3)
    var id = 1
    func fail(_ life: inout ReconnectSchedule) -> [Effect] {
      let effects = life.attemptFailed(id, random: 0)
      if life.waitEnded(id + 1) != [] { id += 2 }
      return effects
    }
    #expect(life.startRequested() == [.connect(1, attempt: 1)])
    #expect(fail(&life).first == .drop(1) && fail(&life).first == .drop(3))
    #expect(fail(&life) == [.drop(5), .giveUp] && life.isStopped)
    #expect(life.connectRequested() == [.connect(6, attempt: 1)], "by hand")
    #expect(life.attemptConnected(6) == [.handOver(6)])
    #expect(life.connectionOver(6, random: 0) == [.wait(7, .milliseconds(100))])
    #expect(life.waitEnded(7) == [.connect(8, attempt: 1)])
    id = 8
    #expect(fail(&life) == [.drop(8), .wait(9, .milliseconds(200))])
    #expect(fail(&life) == [.drop(10), .wait(11, .milliseconds(400))])
    #expect(life.connectRequested() == [], "by hand, while the third runs: it counts as the first")
    #expect(fail(&life) == [.drop(12), .wait(13, .milliseconds(100))])
    #expect(fail(&life).count == 2)
    #expect(fail(&life).last == .giveUp)
  }

  @Test("a limit below one is one", arguments: [1, 0, -5, Int.min])
  func smallLimits(_ limit: Int) {
    var life = schedule(attempts: limit)
    _ = life.startRequested()
    #expect(life.attemptFailed(1, random: 0) == [.drop(1), .giveUp])
    #expect(life.startRequested() == [.connect(2, attempt: 1)])
  }

  // Field report 70
  @Test("stopped, it does nothing more, whatever is told too late")
  func stop() {
    var life = schedule()
    #expect(life.stopRequested() == [])
    _ = life.startRequested()
    #expect(life.stopRequested() == [.drop(1)])
    #expect(life.attemptConnected(1) == [] && life.attemptFailed(1, random: 0) == [] && life.isStopped)
    #expect(life.startRequested() == [.connect(2, attempt: 1)])
    #expect(life.attemptConnected(1) == [], "that of the attempt before")
    _ = life.attemptFailed(2, random: 0)
    #expect(life.stopRequested() == [.cancelWait])
    #expect(life.waitEnded(3) == [] && life.stopRequested() == [])
  }

  @Test("a connection that is lost while stopped is not replaced; one that is kept is gone on with")
  func lostWhileStopped() {
    var life = schedule()
    _ = life.startRequested()
    _ = life.attemptConnected(1)
    #expect(life.stopRequested() == [])
    #expect(life.startRequested() == [] && life.connectRequested() == [], "the connection is still there")
    #expect(life.stopRequested() == [] && life.connectionOver(1, random: 0) == [])
    #expect(life.connectionOver(1, random: 0) == [], "told once")
    #expect(life.startRequested() == [.connect(2, attempt: 1)])
    _ = life.attemptConnected(2)
    _ = life.stopRequested()
    _ = life.startRequested()
    #expect(life.connectionOver(2, random: 0) == [.wait(3, .milliseconds(100))])
  }

  @Test("an attempt whose streams somebody closes has failed")
  func closedAttempt() {
    var life = schedule(attempts: 2)
    _ = life.startRequested()
    #expect(life.connectionOver(1, random: 0) == [.drop(1), .wait(2, .milliseconds(100))])
    #expect(life.connectionOver(1, random: 0) == [])
    _ = life.waitEnded(2)
    #expect(life.connectionOver(3, random: 0) == [.drop(3), .giveUp])
  }
}
