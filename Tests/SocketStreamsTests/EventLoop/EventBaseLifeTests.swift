// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("An event base starts, runs, stops and goes", .timeLimit(.minutes(2)))
struct EventBaseLifeTests {
  // Field report 14, N1: libevent loses a stop that comes before the loop has started.
  @Test("start, stop and join without a pause end within a second, 1,000 times")
  func startStopJoin() throws {
    for _ in 0..<1_000 {
      let begin = monotonicSeconds()
      let base = try EventBase.startThread()
      base.stop()
      base.join()
      #expect(monotonicSeconds() - begin < 1)
    }
  }

  // Field report 14, for a base without a thread of its own.
  @Test("a stop before the run is kept for that run, and used up by it")
  func stopBeforeRun() throws {
    let base = try EventBase()
    base.stop()
    base.run()
    let ended = Gate()
    onThread {
      base.run()
      ended.open()
    }
    let ran = Signal()
    base.execute { ran.raise() }
    #expect(ran.wait(seconds: 10))
    #expect(!ended.wait(seconds: 0.05))
    base.stop()
    #expect(ended.wait(seconds: 10))
  }

  // N1: libevent's loop returns at once when it has no events.
  @Test("a base with nothing to wait for stays up until it is stopped")
  func emptyBaseStaysUp() throws {
    let base = try EventBase()
    let ended = onThread { base.run() }
    #expect(!ended.wait(seconds: 0.1))
    base.stop()
    #expect(ended.wait(seconds: 10))
  }

  // N1
  @Test("a base runs again after it was stopped, on another thread too")
  func runsAgain() throws {
    let base = try EventBase()
    for round in 0..<100 {
      let ran = Shared(0)
      let ended = onThread { base.run() }
      base.execute { ran.with { $0 = round } }
      base.stop()
      #expect(ended.wait(seconds: 10))
      #expect(ran.value == round)
    }
  }

  // N1, N3
  @Test("what was queued before the stop has run when the run returns")
  func stopRunsTheQueue() throws {
    let base = try EventBase()
    let count = Shared(0)
    for _ in 0..<100 { base.execute { count.with { $0 += 1 } } }
    base.stop()
    base.run()
    #expect(count.value == 100)

    let thread = try EventBase.startThread()
    for _ in 0..<100 { thread.execute { count.with { $0 += 1 } } }
    thread.stop()
    thread.join()
    #expect(count.value == 200)
  }

  // N1
  @Test("any number of threads may join, before and after the end")
  func manyJoiners() throws {
    let base = try EventBase.startThread()
    let gates = (0..<8).map { _ in onThread { base.join() } }
    base.stop()
    for gate in gates { #expect(gate.wait(seconds: 10)) }
    base.join()
  }

  // N1
  @Test("the last release ends the base's thread")
  func lastReleaseEndsTheThread() throws {
    var base: EventBase? = try EventBase.startThread(named: "ss-release")
    #expect(eventually { threadNames().contains("ss-release") })
    base = nil
    #expect(eventually { !threadNames().contains("ss-release") })
    _ = base
  }

  // N1
  @Test("the last release may come on the base's own thread")
  func lastReleaseOnOwnThread() throws {
    for _ in 0..<100 {
      let held = Shared<EventBase?>(try EventBase.startThread(named: "ss-own"))
      let ran = Gate()
      held.value?.execute {
        held.with { $0 = nil }
        ran.open()
      }
      #expect(ran.wait(seconds: 10))
    }
    #expect(eventually { !threadNames().contains("ss-own") })
  }

  // N1
  @Test("a base that never ran goes without a trace")
  func neverRan() async {
    await #expect(processExitsWith: .success) {
      // What a base leaves queued runs on the library's own loop, which stays; the first round starts it.
      let ran = Signal()
      var before = 0
      for round in 0...50 {
        let base = try EventBase()
        base.schedule(after: .seconds(60)) {}
        base.execute { ran.raise() }
        if round == 1 {
          guard ran.wait(seconds: 10) else { exit(1) }
          // Less the epoll, the eventfd and the two signal sockets of this base.
          before = openDescriptorCount() - 4
        }
      }
      guard ran.wait(50, seconds: 10) else { exit(2) }
      // The runtime may open or close a few of its own meanwhile; one left by each base would be 50.
      guard abs(openDescriptorCount() - before) < 25 else { exit(3) }
    }
  }

  // N1
  @Test("bases with threads give back descriptors and threads")
  func nothingIsLeft() async {
    await #expect(processExitsWith: .success) {
      var before = 0
      for round in 0...50 {
        // After the first round, as the runtime opens some of its own.
        if round == 1 { before = openDescriptorCount() }
        let base = try EventBase.startThread(named: "ss-left")
        base.schedule(after: .seconds(60)) {}
        base.stop()
        base.join()
      }
      // The runtime may open or close a few of its own meanwhile; one left by each base would be 50.
      guard abs(openDescriptorCount() - before) < 25 else { exit(1) }
      guard eventually({ !threadNames().contains("ss-left") }) else { exit(2) }
    }
  }

  // N1
  @Test("a base that has ended lets others do what it is asked to")
  func afterTheEnd() throws {
    let base = try EventBase.startThread()
    base.stop()
    base.join()
    let ran = Signal()
    base.execute { if base.isCurrent { ran.raise() } }
    #expect(ran.wait(seconds: 10))
    #expect(base.sync { base.isCurrent })
    base.schedule(after: .milliseconds(1)) { ran.raise() }
    #expect(ran.wait(seconds: 10))
    #expect(!base.isCurrent)
  }

  // N1
  @Test("the system sees the thread's name, cut at 15 bytes between characters")
  func threadName() throws {
    let base = try EventBase.startThread(named: "ss-a-long-nameäö")
    #expect(eventually { threadNames().contains("ss-a-long-name") })
    base.stop()
    base.join()
  }

  // Architecture, rule 10
  @Test("a run blocks SIGPIPE meanwhile, and leaves mask and disposition as they were")
  func brokenPipe() async {
    // A process of its own, so that a SIGPIPE that gets through shows.
    await #expect(processExitsWith: .success) {
      let base = try EventBase()
      base.execute {
        // Pending, as it is blocked here; it must not be delivered later.
        pthread_kill(pthread_self(), SIGPIPE)
        base.stop()
      }
      base.run()
      var mask = sigset_t()
      pthread_sigmask(SIG_BLOCK, nil, &mask)
      guard sigismember(&mask, SIGPIPE) == 0 else { exit(1) }
      var pending = sigset_t()
      sigpending(&pending)
      guard sigismember(&pending, SIGPIPE) == 0 else { exit(2) }
      var action = sigaction()
      sigaction(SIGPIPE, nil, &action)
      guard action.__sigaction_handler.sa_handler == nil else { exit(3) }
    }
  }

  // Style 11: only a wrong caller gets here.
  @Test("a thread that waits for its own end is stopped with a sentence")
  func joinOnOwnThread() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let base = try EventBase.startThread()
      let done = Gate()
      base.execute {
        base.join()
        done.open()
      }
      _ = done.wait(seconds: 10)
    }
    #expect(text(result).contains("join: a thread cannot wait for its own end"))
  }

  // Style 11
  @Test("running a base that runs already is stopped with a sentence")
  func runTwice() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let base = try EventBase()
      base.execute { base.run() }
      base.run()
    }
    #expect(text(result).contains("run: the base is running already"))
  }

  // Style 11
  @Test("running a base that has a thread of its own is stopped with a sentence")
  func runThreadBase() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try EventBase.startThread().run()
    }
    #expect(text(result).contains("run: the base is run by a thread of its own"))
  }

  private func text(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  }
}
