// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Testing

@testable import SocketStreams

@Suite("Items on a loop", .timeLimit(.minutes(2)))
struct LoopItemTests {
  /// Notes what the loop asks of it.
  ///
  /// `@unchecked Sendable`: the closures are set before the item is woken or registered; the rest has locks
  /// of its own.
  final class Item: LoopItem, @unchecked Sendable {
    let serviced = Signal()
    let ended = Signal()
    var onService: (Item, EventLoop) -> Void = { _, _ in }
    var onDeadline: (Item, EventLoop, UInt64) -> UInt64? = { _, _, _ in nil }

    override func service(on loop: EventLoop) {
      onService(self, loop)
      if loop.isCurrent { serviced.raise() }
    }

    override func loopWillEnd(_ loop: EventLoop) { if loop.isCurrent { ended.raise() } }

    override func nextDeadline(_ loop: EventLoop, now: UInt64) -> UInt64? { onDeadline(self, loop, now) }
  }

  // N2
  @Test("a woken item is serviced on the loop's thread, once for each wake, from any thread")
  func wake() throws {
    let base = try EventBase.startThread()
    let item = Item()
    let workers = (0..<4).map { _ in onThread { for _ in 0..<500 { base.loop.wake(item) } } }
    for worker in workers { #expect(worker.wait(seconds: 10)) }
    #expect(item.serviced.wait(2_000, seconds: 10))
    base.sync { base.loop.wake(item) }
    #expect(item.serviced.wait(seconds: 10))
    base.sync {}
    #expect(item.serviced.count == 0)
  }

  // Rule 7: streams wake items while they hold their own lock.
  @Test("an item may be woken under any lock, and is kept until it has been serviced")
  func wakeKeeps() throws {
    let base = try EventBase.startThread()
    weak var held: Item?
    let serviced: Signal
    do {
      let item = Item()
      held = item
      serviced = item.serviced
      let lock = Lock()
      lock.withLock { base.loop.wake(item) }
    }
    #expect(serviced.wait(seconds: 10))
    #expect(eventually { held == nil })
  }

  // I12
  @Test("an item that wakes itself for ever starves neither a timer nor another item")
  func fairness() throws {
    let base = try EventBase.startThread()
    let greedy = Item()
    greedy.onService = { item, loop in loop.wake(item) }
    base.loop.wake(greedy)
    #expect(greedy.serviced.wait(100, seconds: 10))
    let fired = Signal()
    base.schedule(after: .milliseconds(10)) { fired.raise() }
    #expect(fired.wait(seconds: 10))
    let other = Item()
    base.loop.wake(other)
    #expect(other.serviced.wait(seconds: 10))
    // The end does not wait for it, and lets go of it.
    base.stop()
    base.join()
  }

  // I11
  @Test("the end of a loop tells each registered item once, on its thread, and no other")
  func end() throws {
    let base = try EventBase.startThread()
    let items = (0..<10).map { _ in Item() }
    base.sync {
      for item in items { base.loop.register(item) }
      // From the first place, the middle and the last.
      for index in [0, 5, 9] { base.loop.unregister(items[index]) }
      base.loop.unregister(items[0])
    }
    base.stop()
    base.join()
    #expect(items.map(\.ended.count) == [0, 1, 1, 1, 1, 0, 1, 1, 1, 0])
    #expect(items.allSatisfy { $0.registrySlot == -1 })
  }

  // I11
  @Test("waking an item on a loop that has ended does nothing, and does not keep it")
  func wakeAfterEnd() throws {
    let base = try EventBase.startThread()
    base.stop()
    base.join()
    weak var held: Item?
    do {
      let item = Item()
      held = item
      base.loop.wake(item)
      #expect(item.serviced.count == 0)
    }
    #expect(held == nil)
  }

  // I11
  @Test("items that are woken while the loop ends neither hang nor leak")
  func wakeAgainstTheEnd() throws {
    let living = Shared(0)
    // Its property is constant and guards itself.
    final class Counted: LoopItem, @unchecked Sendable {
      let living: Shared<Int>
      init(_ living: Shared<Int>) {
        self.living = living
        living.with { $0 += 1 }
        super.init()
      }
      deinit { living.with { $0 -= 1 } }
    }
    for _ in 0..<200 {
      let base = try EventBase.startThread()
      let worker = onThread { for _ in 0..<50 { base.loop.wake(Counted(living)) } }
      base.stop()
      #expect(worker.wait(seconds: 10))
      base.join()
    }
    #expect(eventually { living.value == 0 })
  }

  // N2
  @Test("perform runs at once on the loop's thread, and at once on a loop that nobody runs")
  func perform() throws {
    let base = try EventBase()
    let seen = Shared<[Int]>([])
    base.loop.perform {
      if base.isCurrent { seen.with { $0.append(1) } }
      base.loop.perform { seen.with { $0.append(2) } }
      seen.with { $0.append(3) }
    }
    #expect(seen.value == [1, 2, 3])
    #expect(!base.isCurrent)
  }

  // N2
  @Test("perform from many threads against runs that begin and end: each is done, one at a time")
  func performAgainstRun() throws {
    let base = try EventBase()
    let ends = Shared(false)
    let runner = onThread { while !ends.value { base.run() } }
    let inside = Shared(0)
    let done = Signal()
    for _ in 0..<4 {
      onThread {
        for _ in 0..<2_000 {
          base.loop.perform {
            #expect(
              inside.with {
                $0 += 1; return $0
              } == 1)
            inside.with { $0 -= 1 }
            done.raise()
          }
          base.stop()
        }
      }
    }
    // Though no run follows: whoever holds the loop does what others wanted before it lets go.
    #expect(done.wait(8_000, seconds: 60))
    ends.with { $0 = true }
    base.stop()
    #expect(runner.wait(seconds: 10))
  }

  // MARK: - Deadlines

  // Cost table of the architecture: timeouts are one coarse timer a base.
  @Test("a deadline is acted on after its time, and items without one are asked no more")
  func deadlines() throws {
    let base = try EventBase.startThread()
    let acted = Signal()
    let asked = Shared(0)
    let item = Item()
    let late = Shared<Int64>(-1)
    base.sync {
      let deadline = base.loop.monotonicNow() + 25_000_000
      item.onDeadline = { _, _, now in
        asked.with { $0 += 1 }
        guard now >= deadline else { return deadline }
        late.with { $0 = Int64(now - deadline) }
        acted.raise()
        return nil
      }
      base.loop.register(item)
      base.loop.trackDeadlines(of: item)
    }
    #expect(acted.wait(seconds: 10))
    #expect(late.value >= 0)
    let count = asked.value
    #expect(count <= 4)
    let later = Gate()
    base.schedule(after: .milliseconds(40)) { later.open() }
    #expect(later.wait(seconds: 10))
    #expect(asked.value == count)
    base.sync { base.loop.unregister(item) }
  }

  @Test("a deadline that becomes earlier is asked for at its new time, one that moves away is not acted on")
  func movingDeadlines() throws {
    let base = try EventBase.startThread()
    let item = Item()
    let acted = Signal()
    let deadline = Shared<UInt64>(0)
    base.sync {
      let now = base.loop.monotonicNow()
      deadline.with { $0 = now + 60_000_000_000 }
      item.onDeadline = { _, _, now in
        guard now >= deadline.value else { return deadline.value }
        acted.raise()
        return nil
      }
      base.loop.register(item)
      base.loop.trackDeadlines(of: item)
    }
    #expect(!acted.wait(seconds: 0.05))
    base.sync {
      let earlier = base.loop.monotonicNow() + 20_000_000
      deadline.with { $0 = earlier }
      base.loop.trackDeadlines(of: item, earliest: earlier)
    }
    #expect(acted.wait(seconds: 10))
    base.sync {
      let first = base.loop.monotonicNow() + 20_000_000
      deadline.with { $0 = first + 60_000_000_000 }
      base.loop.trackDeadlines(of: item, earliest: first)
    }
    #expect(!acted.wait(seconds: 0.06))
    base.sync { base.loop.unregister(item) }
  }

  @Test("items that leave, or bring others, while deadlines are looked at neither lose nor repeat one")
  func changesDuringScan() throws {
    let base = try EventBase.startThread()
    let acted = Shared<[Int]>([])
    let done = Signal()
    let items = Shared<[Item]>((0..<6).map { _ in Item() })
    let extra = Item()
    base.sync {
      let all = items.value
      let deadline = base.loop.monotonicNow() + 10_000_000
      for (number, item) in all.enumerated() {
        item.onDeadline = { _, loop, now in
          guard now >= deadline else { return deadline }
          acted.with { $0.append(number) }
          done.raise()
          if number == 1 {
            // Itself, one that was asked already, one that is to come.
            for gone in [1, 0, 4] { loop.unregister(all[gone]) }
            loop.register(extra)
            loop.trackDeadlines(of: extra)
          }
          return nil
        }
        base.loop.register(item)
        base.loop.trackDeadlines(of: item)
      }
      extra.onDeadline = { _, _, _ in
        acted.with { $0.append(100) }
        done.raise()
        return nil
      }
    }
    #expect(done.wait(6, seconds: 10))
    base.sync {
      for item in items.value + [extra] {
        base.loop.unregister(item)
        item.onDeadline = { _, _, _ in nil }  // it holds the others
      }
    }
    #expect(acted.value == [0, 1, 2, 3, 5, 100])
    #expect(items.value.allSatisfy { $0.deadlineSlot == -1 })
  }
}
