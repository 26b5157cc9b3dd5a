// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("Timers of an event base", .timeLimit(.minutes(2)))
struct EventTimerTests {
  // N3: libevent 2.1.12 reads a coarse clock, and counts from when the loop woke up.
  @Test("a timer fires once, on the base's thread, and never early", arguments: [0, 1, 3, 10, 37])
  func oneShot(milliseconds: Int) throws {
    let base = try EventBase.startThread()
    let fired = Signal()
    let elapsed = Shared(0.0)
    let begin = monotonicSeconds()
    base.schedule(after: .milliseconds(milliseconds)) {
      elapsed.with { $0 = monotonicSeconds() - begin }
      if base.isCurrent { fired.raise() }
    }
    #expect(fired.wait(seconds: 10))
    #expect(elapsed.value >= Double(milliseconds) / 1_000)
    #expect(!fired.wait(seconds: 0.05))
  }

  // N3
  @Test("a timer that is set late in a long callback is not early either")
  func afterLongCallback() throws {
    let base = try EventBase.startThread()
    let fired = Signal()
    let elapsed = Shared(0.0)
    base.execute {
      // Busy for 30 ms, during which libevent's cached time stands still.
      let busy = monotonicSeconds() + 0.03
      while monotonicSeconds() < busy {}
      let begin = monotonicSeconds()
      base.schedule(after: .milliseconds(40)) {
        elapsed.with { $0 = monotonicSeconds() - begin }
        fired.raise()
      }
    }
    #expect(fired.wait(seconds: 10))
    #expect(elapsed.value >= 0.04)
  }

  // N3
  @Test("a repeating timer fires again and again, and each time keeps its distance from the start")
  func repeating() throws {
    let base = try EventBase.startThread()
    let fired = Signal()
    let begin = monotonicSeconds()
    let timer = base.schedule(after: .milliseconds(5), repeating: true) { fired.raise() }
    #expect(fired.wait(10, seconds: 10))
    #expect(monotonicSeconds() - begin >= 0.05)
    timer.cancel()
  }

  // N3
  @Test("a repeating timer that was held up does not make up for what it missed")
  func missedCalls() throws {
    let base = try EventBase.startThread()
    let times = Shared<[Double]>([])
    let fired = Signal()
    let timer = base.schedule(after: .milliseconds(10), repeating: true) {
      times.with { $0.append(monotonicSeconds()) }
      fired.raise()
      if times.value.count == 1 {
        let busy = monotonicSeconds() + 0.1
        while monotonicSeconds() < busy {}
      }
    }
    #expect(fired.wait(3, seconds: 10))
    timer.cancel()
    let seen = times.value
    // The second call is the one that came due in between; the third a whole interval later.
    #expect(seen[2] - seen[1] >= 0.009)
  }

  // N3
  @Test("timers fire in the order of their times, not in the order of their making")
  func order() throws {
    let base = try EventBase.startThread()
    let seen = Shared<[Int]>([])
    let fired = Signal()
    base.sync {
      for number in [5, 3, 1, 4, 2] {
        base.schedule(after: .milliseconds(number * 20)) {
          seen.with { $0.append(number) }
          fired.raise()
        }
      }
    }
    #expect(fired.wait(5, seconds: 10))
    #expect(seen.value == [1, 2, 3, 4, 5])
  }

  // N3
  @Test("a timer cancelled on the base's thread is not called again, in its own call either")
  func cancelOnThread() throws {
    let base = try EventBase.startThread()
    let calls = Shared(0)
    let timer = Shared<EventTimer?>(nil)
    base.sync {
      timer.with {
        $0 = base.schedule(after: .zero, repeating: true) {
          calls.with { $0 += 1 }
          timer.value?.cancel()
          timer.value?.cancel()
        }
      }
      base.schedule(after: .zero) { calls.with { $0 += 100 } }.cancel()
    }
    let later = Gate()
    base.schedule(after: .milliseconds(30)) { later.open() }
    #expect(later.wait(seconds: 10))
    #expect(calls.value == 1)
  }

  // N3
  @Test("a timer cancelled on another thread stops, and lets go of its closure")
  func cancelElsewhere() throws {
    let base = try EventBase.startThread()
    weak var held: Signal?
    do {
      let fired = Signal()
      held = fired
      let timer = base.schedule(after: .milliseconds(1), repeating: true) { fired.raise() }
      #expect(fired.wait(3, seconds: 10))
      timer.cancel()
      base.sync {}
      let count = fired.count
      let later = Gate()
      base.schedule(after: .milliseconds(20)) { later.open() }
      #expect(later.wait(seconds: 10))
      #expect(fired.count == count)
    }
    #expect(held == nil)
  }

  // N3
  @Test("a timer that has fired lets go of its closure, and can still be cancelled")
  func releasesWhenFired() throws {
    let base = try EventBase.startThread()
    weak var held: Signal?
    let timer: EventTimer
    do {
      let fired = Signal()
      held = fired
      timer = base.schedule(after: .milliseconds(1)) { fired.raise() }
      #expect(fired.wait(seconds: 10))
    }
    #expect(eventually { held == nil })
    timer.cancel()
  }

  // N1, N3
  @Test("the end of a base cancels its timers, and lets go of their closures")
  func endCancels() throws {
    weak var held: Signal?
    let timer: EventTimer
    do {
      let fired = Signal()
      held = fired
      let base = try EventBase.startThread()
      timer = base.schedule(after: .seconds(60)) { fired.raise() }
      base.sync {}
      base.stop()
      base.join()
    }
    #expect(held == nil)
    timer.cancel()
  }

  // N3
  @Test("a base that nobody runs keeps timers for its run, and counts from when they were set")
  func beforeTheRun() throws {
    let base = try EventBase()
    let begin = monotonicSeconds()
    let elapsed = Shared(0.0)
    base.schedule(after: .milliseconds(60)) {
      elapsed.with { $0 = monotonicSeconds() - begin }
      base.stop()
    }
    let busy = monotonicSeconds() + 0.06
    while monotonicSeconds() < busy {}
    base.run()
    #expect(elapsed.value >= 0.06)
  }

  // N3
  @Test("times beyond every clock, and negative ones, are taken")
  func extremes() throws {
    let base = try EventBase.startThread()
    let fired = Signal()
    let far = base.schedule(after: .seconds(Int64.max)) { fired.raise() }
    base.schedule(after: .seconds(-5)) { fired.raise() }
    #expect(fired.wait(seconds: 10))
    far.cancel()
    #expect(!fired.wait(seconds: 0.05))
  }
}
