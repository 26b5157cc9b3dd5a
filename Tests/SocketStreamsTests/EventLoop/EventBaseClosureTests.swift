// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("An event base runs closures", .timeLimit(.minutes(2)))
struct EventBaseClosureTests {
  // N3
  @Test("closures run on the base's thread, in the order in which they were given")
  func order() throws {
    let base = try EventBase.startThread()
    let seen = Shared<[Int]>([])
    let done = Gate()
    for number in 0..<1_000 {
      base.execute { if base.isCurrent { seen.with { $0.append(number) } } }
    }
    base.execute { done.open() }
    #expect(done.wait(seconds: 10))
    #expect(seen.value == Array(0..<1_000))
    #expect(!base.isCurrent)
  }

  // N3: without a wake-up the loop, which has nothing else to do, would never look.
  @Test("a closure from another thread wakes a sleeping loop at once, each time")
  func wakesAtOnce() throws {
    let base = try EventBase.startThread()
    let ran = Signal()
    for _ in 0..<2_000 {
      base.execute { ran.raise() }
      #expect(ran.wait(seconds: 10))
    }
  }

  // N3
  @Test("closures from many threads all run, each thread's in its order")
  func manyThreads() throws {
    let base = try EventBase.startThread()
    let last = Shared([Int](repeating: -1, count: 8))
    let total = Signal()
    for thread in 0..<8 {
      onThread {
        for number in 0..<2_000 {
          base.execute {
            last.with {
              #expect($0[thread] == number - 1)
              $0[thread] = number
            }
            total.raise()
          }
        }
      }
    }
    #expect(total.wait(16_000, seconds: 30))
  }

  // N3
  @Test("a closure never runs before execute returns, on the base's own thread either")
  func laterThanReturn() throws {
    let base = try EventBase.startThread()
    let seen = Shared<[String]>([])
    let done = Gate()
    base.execute {
      base.execute {
        seen.with { $0.append("inner") }
        done.open()
      }
      seen.with { $0.append("outer") }
    }
    #expect(done.wait(seconds: 10))
    #expect(seen.value == ["outer", "inner"])
  }

  // N3
  @Test("a closure that queues itself for ever starves neither a timer nor other closures")
  func fairness() throws {
    let base = try EventBase.startThread()
    let fired = Signal()
    let turns = Shared(0)
    @Sendable func again() {
      turns.with { $0 += 1 }
      base.execute { again() }
    }
    base.execute { again() }
    base.schedule(after: .milliseconds(20)) { fired.raise() }
    #expect(fired.wait(seconds: 10))
    base.execute { fired.raise() }
    #expect(fired.wait(seconds: 10))
    let before = turns.value
    #expect(eventually { turns.value > before })
    // It goes on elsewhere afterwards; the end does not wait for it.
    base.stop()
    base.join()
  }

  // N10
  @MainActor
  @Test("closures written on the main actor run on the base's thread")
  func fromTheMainActor() throws {
    let base = try EventBase.startThread()
    let ran = Signal()
    base.execute { ran.raise() }
    base.schedule(after: .milliseconds(1)) { ran.raise() }
    #expect(ran.wait(2, seconds: 10))
    #expect(base.sync { base.isCurrent })
  }

  // N3
  @Test("what a closure holds is let go of when it has run")
  func releasesClosures() throws {
    let base = try EventBase.startThread()
    weak var held: Gate?
    let done = Gate()
    do {
      let object = Gate()
      held = object
      base.execute { object.open() }
      #expect(object.wait(seconds: 10))
    }
    base.execute { done.open() }
    #expect(done.wait(seconds: 10))
    #expect(eventually { held == nil })
  }

  // MARK: - Waiting

  // N3
  @Test("sync gives back what the closure returns, and runs on the base's thread")
  func syncReturns() throws {
    let base = try EventBase.startThread()
    for number in 0..<1_000 {
      #expect(base.sync { base.isCurrent ? number : -1 } == number)
    }
    base.sync { #expect(base.sync { base.sync { 7 } } == 7) }
  }

  // Style 10
  @Test("sync throws what the closure throws, with its type")
  func syncThrows() throws {
    struct Refusal: Error, Equatable { let code: Int }
    let base = try EventBase.startThread()
    do throws(Refusal) {
      let _: Int = try base.sync { () throws(Refusal) in throw Refusal(code: 3) }
      Issue.record("nothing was thrown")
    } catch {
      #expect(error == Refusal(code: 3))
    }
  }

  // N3
  @Test("sync comes after what the same thread executed before")
  func syncAfterExecute() throws {
    let base = try EventBase.startThread()
    let count = Shared(0)
    for _ in 0..<100 { base.execute { count.with { $0 += 1 } } }
    #expect(base.sync { count.value } == 100)
  }

  // N3
  @Test("sync on a base that nobody runs borrows it: the calling thread is the base's meanwhile")
  func syncBorrows() throws {
    let base = try EventBase()
    #expect(!base.isCurrent)
    #expect(base.sync { base.isCurrent })
    #expect(!base.isCurrent)
    // What was executed waits for the run.
    let ran = Shared(false)
    base.execute { ran.with { $0 = true } }
    #expect(base.sync { !ran.value })
    base.sync { base.stop() }
    base.run()
    #expect(ran.value)
  }

  // N1, N3
  @Test("sync from many threads while runs begin and end all the time returns each time, one at a time")
  func syncAgainstRun() throws {
    let base = try EventBase()
    let ends = Shared(false)
    let runner = onThread {
      while !ends.value { base.run() }
    }
    let inside = Shared(0)
    let workers = (0..<4).map { _ in
      onThread {
        for _ in 0..<1_000 {
          let alone = base.sync {
            let count = inside.with { value in
              value += 1
              return value
            }
            inside.with { $0 -= 1 }
            return count == 1 && base.isCurrent
          }
          #expect(alone)
          base.stop()
        }
      }
    }
    for worker in workers { #expect(worker.wait(seconds: 60)) }
    ends.with { $0 = true }
    base.stop()
    #expect(runner.wait(seconds: 10))
  }

  // N3
  @Test("sync with a base that ends at this moment returns")
  func syncAgainstTheEnd() throws {
    for _ in 0..<300 {
      let base = try EventBase.startThread()
      let workers = (0..<2).map { _ in onThread { for _ in 0..<3 { base.sync {} } } }
      base.stop()
      for worker in workers { #expect(worker.wait(seconds: 10)) }
      base.join()
    }
  }

  // N3
  @Test("closures given while a base ends all run")
  func executeAgainstTheEnd() throws {
    for _ in 0..<300 {
      let base = try EventBase.startThread()
      let ran = Signal()
      let worker = onThread { for _ in 0..<100 { base.execute { ran.raise() } } }
      base.stop()
      #expect(worker.wait(seconds: 10))
      #expect(ran.wait(100, seconds: 10))
    }
  }
}
