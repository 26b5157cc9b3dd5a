// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("A group of event bases", .timeLimit(.minutes(2)))
struct EventBaseGroupTests {
  // N5
  @Test("the bases of a group take turns, in order, from the first", arguments: [1, 2, 3])
  func roundRobin(count: Int) throws {
    let group = try EventBaseGroup(count: count)
    #expect(group.bases.count == count && Set(group.bases.map(ObjectIdentifier.init)).count == count)
    for _ in 0..<5 {
      for base in group.bases { #expect(group.next() === base) }
    }
  }

  // N5
  @Test("threads that ask at the same time share one sequence: each base has its turn equally often")
  func manyCallers() throws {
    let group = try EventBaseGroup(count: 3)
    let turns = Shared<[ObjectIdentifier: Int]>([:])
    let callers = (0..<8).map { _ in
      onThread {
        var own: [ObjectIdentifier: Int] = [:]
        for _ in 0..<3_001 { own[ObjectIdentifier(group.next()), default: 0] += 1 }
        turns.with { [own] in $0.merge(own, uniquingKeysWith: +) }
      }
    }
    for caller in callers { #expect(caller.wait(seconds: 20)) }
    // 24,008 turns: after 8,002 rounds two bases have been asked once more.
    #expect(group.bases.map { turns.value[ObjectIdentifier($0)] } == [8_003, 8_003, 8_002])
  }

  // N5
  @Test("each base of a group has a thread of its own, named after the group")
  func threads() throws {
    let group = try EventBaseGroup(count: 3, name: "ss-shard")
    let threads = Set(group.bases.map { base in base.sync { pthread_self() } })
    #expect(threads.count == 3)
    #expect(Set(threadNames()).isSuperset(of: ["ss-shard-1", "ss-shard-2", "ss-shard-3"]))
    #expect("\(group)" == "EventBaseGroup(ss-shard, 3)")
    for base in group.bases {
      let isOnly = base.sync { group.bases.filter(\.isCurrent).map(ObjectIdentifier.init) }
      #expect(isOnly == [ObjectIdentifier(base)])
    }
  }

  // N5, N1
  @Test("a stopped group runs what was queued before, and its threads are gone when join returns")
  func stopAndJoin() throws {
    let group = try EventBaseGroup(count: 3, name: "ss-joined")
    let count = Shared(0)
    for _ in 0..<300 { group.next().execute { count.with { $0 += 1 } } }
    let held = Gate()
    group.bases[2].execute { _ = held.wait(seconds: 10) }
    let joiners = (0..<4).map { _ in onThread { group.join() } }
    group.stop()
    #expect(!joiners[0].wait(seconds: 0.05), "the last base is busy")
    held.open()
    group.join()
    for joiner in joiners { #expect(joiner.wait(seconds: 10)) }
    #expect(count.value == 300)
    // The kernel lists a thread for an instant longer than joining it takes.
    #expect(eventually(within: 5) { !threadNames().contains { $0.hasPrefix("ss-joined") } })
    group.stop()
    group.join()
    // As a base that has ended: others do it.
    let ran = Signal()
    for base in group.bases { base.execute { ran.raise() } }
    #expect(ran.wait(3, seconds: 10))
    #expect(group.next() === group.bases[0], "300 turns are 100 rounds")
  }

  // N5, N1
  @Test("dropping a group ends its bases, less those that somebody keeps")
  func dropped() throws {
    var group: EventBaseGroup? = try EventBaseGroup(count: 3, name: "ss-drop")
    var kept = group?.bases[1]
    group = nil
    #expect(eventually(within: 10) { threadNames().filter { $0.hasPrefix("ss-drop") } == ["ss-drop-2"] })
    #expect(kept?.sync { kept?.isCurrent } == true)
    kept = nil
    #expect(eventually(within: 10) { !threadNames().contains { $0.hasPrefix("ss-drop") } })
    _ = (group, kept)
  }

  // N5
  @Test("without a count a group has a base for each processor that the thread may use")
  func processors() throws {
    typealias Call = @convention(c) (Int32, Int, UnsafeMutableRawPointer) -> Int32
    let ask = unsafeBitCast(dlsym(nil, "sched_getaffinity"), to: Call.self)
    let set = unsafeBitCast(dlsym(nil, "sched_setaffinity"), to: Call.self)
    var allowed = [UInt8](repeating: 0, count: 1_024)
    try #require(ask(0, allowed.count, &allowed) == 0)
    let count = allowed.reduce(0) { $0 + $1.nonzeroBitCount }
    #expect(EventBaseGroup.processorCount == count)
    #expect(try EventBaseGroup().bases.count == count)

    // The affinity is a thread's: this one may use the first of them only.
    let first = try #require(allowed.firstIndex { $0 != 0 })
    let bit = allowed[first] & (~allowed[first] &+ 1)
    let counts = Shared<[Int?]>([])
    let done = onThread {
      var one = [UInt8](repeating: 0, count: 1_024)
      one[first] = bit
      let code = set(0, one.count, &one)
      let group = try? EventBaseGroup()
      counts.with { $0 = [Int(code), EventBaseGroup.processorCount, group?.bases.count] }
    }
    #expect(done.wait(seconds: 10))
    #expect(counts.value == [0, 1, 1])
  }

  // N5
  @Test("a group that finds no descriptors for one of its bases says so, and leaves nothing behind")
  func noDescriptors() async {
    await #expect(processExitsWith: .success) {
      let highest = processDescriptors().max()!
      while let fd = Optional(dup(0)), fd < highest {}
      let (before, countBefore) = (openSockets(), openDescriptorCount())
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let usual = limit.rlim_cur
      // A base takes four: enough for some, whatever the runtime takes meanwhile, and for far fewer than 40.
      limit.rlim_cur = rlim_t(processDescriptors().max()! + 1 + 40)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      do throws(StreamError) {
        _ = try EventBaseGroup(count: 40)
        exit(1)
      } catch {
        guard error.domain == .posix, error.code == EMFILE else { exit(2) }
      }
      limit.rlim_cur = usual
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      // The kernel lists a thread for an instant longer than joining it takes.
      guard eventually({ !threadNames().contains { $0.hasPrefix("streams-") } }) else { exit(3) }
      // Two sockets of each base, and two more descriptors; the runtime may open or close a few of those itself.
      guard openSockets() == before, abs(openDescriptorCount() - countBefore) < 10 else { exit(4) }
      let group = try EventBaseGroup(count: 3)
      guard group.bases.allSatisfy({ base in base.sync { base.isCurrent } }) else { exit(5) }
    }
  }

  // Style 11: only a wrong caller gets here.
  @Test("a group of no bases is stopped with a sentence")
  func empty() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = try EventBaseGroup(count: 0)
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("make a group of event bases: its count is less than 1"))
  }
}
