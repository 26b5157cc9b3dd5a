// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The lock of a pair: one thread at a time, and nobody sleeps for ever.

import Glibc
import Testing

@testable import SocketStreams

@Suite("The lock of a pair")
struct PairLockTests {
  /// What some threads count together, each step a read and a write, so that a lost exclusion shows.
  private final class Counter: @unchecked Sendable {
    let lock = PairLock()
    var count = 0
    /// Whether another thread is inside.
    var isOccupied = false
    var meetings = 0

    func step(holding: Bool) {
      lock.lock()
      if isOccupied { meetings += 1 }
      isOccupied = true
      let before = count
      // Let others run into the held lock.
      if holding { sched_yield() }
      count = before + 1
      isOccupied = false
      lock.unlock()
    }
  }

  @Test("threads that contend for one lock are inside one at a time, and all get in")
  func exclusion() {
    let counter = Counter()
    let threads = (0..<8).map { _ in
      onThread { for step in 0..<2_000 { counter.step(holding: step % 16 == 0) } }
    }
    for thread in threads { #expect(thread.wait(seconds: 60), "a thread never got the lock") }
    #expect(counter.count == 16_000)
    #expect(counter.meetings == 0)
  }

  @Test("threads that sleep for different locks of one bed all wake up")
  func sharedBeds() {
    // There are 16 beds: with 32 locks each has two.
    let counters = (0..<32).map { _ in Counter() }
    let threads = (0..<8).map { first in
      onThread {
        for step in 0..<200 {
          for offset in 0..<32 { counters[(first + offset) % 32].step(holding: step % 8 == 0) }
        }
      }
    }
    for thread in threads { #expect(thread.wait(seconds: 60), "a thread never got a lock") }
    #expect(counters.allSatisfy { $0.count == 1_600 && $0.meetings == 0 })
  }

  @Test("a lock that another thread may have waited for is taken and given back as before")
  func reuse() {
    let counter = Counter()
    counter.lock.lock()
    let waiting = onThread { counter.step(holding: false) }
    sched_yield()
    counter.lock.unlock()
    #expect(waiting.wait(seconds: 60), "the thread never got the lock")
    for _ in 0..<1_000 { counter.step(holding: false) }
    #expect(counter.count == 1_001)
  }
}
