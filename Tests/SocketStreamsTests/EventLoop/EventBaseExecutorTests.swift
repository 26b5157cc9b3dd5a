// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("Actors and tasks on an event base", .timeLimit(.minutes(2)))
struct EventBaseExecutorTests {
  actor Resident {
    nonisolated let base: EventBase
    private var count = 0

    init(_ base: EventBase) { self.base = base }

    nonisolated var unownedExecutor: UnownedSerialExecutor { base.asUnownedSerialExecutor() }

    func step() -> Bool {
      count += 1
      return base.isCurrent
    }

    func total() -> Int { count }

    func stepAcross(_ other: Resident) async -> Bool {
      let here = base.isCurrent
      let there = await other.step()
      return here && there && base.isCurrent
    }
  }

  // N9
  @Test("an actor that has a base for its executor runs on the base's thread")
  func actorOnBase() async throws {
    let resident = Resident(try EventBase.startThread())
    for _ in 0..<1_000 { #expect(await resident.step()) }
    #expect(await resident.total() == 1_000)
  }

  // N9
  @Test("actors on two bases call each other, each on its own thread")
  func twoBases() async throws {
    let first = Resident(try EventBase.startThread())
    let second = Resident(try EventBase.startThread())
    async let forth = first.stepAcross(second)
    async let back = second.stepAcross(first)
    #expect(await forth)
    #expect(await back)
  }

  // N9
  @Test("many tasks step one actor one at a time")
  func manyTasks() async throws {
    let resident = Resident(try EventBase.startThread())
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        group.addTask { for _ in 0..<20 { _ = await resident.step() } }
      }
    }
    #expect(await resident.total() == 2_000)
  }

  // N9: callbacks of libevent are no jobs of the runtime.
  @Test("a callback of the base may assume the isolation of an actor that lives there")
  func assumeIsolated() throws {
    let base = try EventBase.startThread()
    let resident = Resident(base)
    let ok = Signal()
    base.schedule(after: .milliseconds(1)) {
      if resident.assumeIsolated({ $0.step() }) { ok.raise() }
    }
    #expect(ok.wait(seconds: 10))
  }

  // N9
  @Test("assuming the isolation on another thread is stopped")
  func assumeIsolatedElsewhere() async {
    await #expect(processExitsWith: .failure) {
      let resident = Resident(try EventBase.startThread())
      let done = onThread { _ = resident.assumeIsolated { $0.step() } }
      _ = done.wait(seconds: 10)
    }
  }

  // N9
  @Test("a task that prefers the base runs there what has no actor, after each suspension too")
  func taskPreference() async throws {
    let base = try EventBase.startThread()
    let results = await Task(executorPreference: base) {
      var results = [base.isCurrent]
      for _ in 0..<50 {
        await Task.yield()
        results.append(base.isCurrent)
      }
      return results
    }.value
    #expect(results == [Bool](repeating: true, count: 51))
    let scoped = await withTaskExecutorPreference(base) { base.isCurrent }
    #expect(scoped)
  }

  // N9
  @Test("a task keeps the base that it prefers, and lets go of it at its end")
  func taskKeepsBase() async throws {
    weak var held: EventBase?
    do {
      let task: Task<Bool, Never>
      do {
        let base = try EventBase.startThread()
        held = base
        task = Task(executorPreference: base) {
          for _ in 0..<20 { await Task.yield() }
          return true
        }
      }
      #expect(await task.value)
    }
    #expect(eventually { held == nil })
  }

  // N1, N9
  @Test("tasks and actors whose base is stopped come to their end all the same")
  func stopUnderTasks() async throws {
    for _ in 0..<50 {
      let base = try EventBase.startThread()
      let resident = Resident(base)
      let tasks = (0..<4).map { _ in
        Task(executorPreference: base) {
          for _ in 0..<10 { _ = await resident.step() }
        }
      }
      base.stop()
      for task in tasks { await task.value }
      #expect(await resident.total() == 40)
      base.join()
    }
  }
}
