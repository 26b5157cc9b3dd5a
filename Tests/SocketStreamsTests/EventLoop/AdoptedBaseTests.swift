// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import CLibEvent
import SocketStreams
import Testing

@Suite("A host's event_base", .timeLimit(.minutes(2)))
struct AdoptedBaseTests {
  /// A host as a C program is one: it makes a base, runs it on a thread, and frees it.
  ///
  /// `@unchecked Sendable`: the pointer never changes, and `event_base_loopexit` and the rest are called on
  /// the host's thread, or while it does not run.
  final class Host: @unchecked Sendable {
    let base: OpaquePointer

    /// - Parameter avoiding: A back end not to use; without epoll there are no edge-triggered events.
    init(avoiding method: String? = nil) {
      let configuration = event_config_new()
      if let method { event_config_avoid_method(configuration, method) }
      base = event_base_new_with_config(configuration)!
      event_config_free(configuration)
    }

    /// Runs until the base has no event left or its loop is left.
    func run() -> Gate { onThread { [self] in _ = event_base_dispatch(base) } }

    func free() { event_base_free(base) }
  }

  static let backends: [String?] = [nil, "epoll"]

  // Rule 7 of the architecture: other threads reach the host's loop, which has no locks and nothing else to
  // do.
  @Test("closures of other threads and timers run on the thread that the host chose", arguments: backends)
  func closures(avoiding: String?) throws {
    let host = Host(avoiding: avoiding)
    let base = try EventBase(adopting: host.base)
    let ran = Signal()
    base.execute { if base.isCurrent { ran.raise() } }
    base.schedule(after: .milliseconds(5)) { if base.isCurrent { ran.raise() } }
    let ended = host.run()
    #expect(ran.wait(2, seconds: 10))
    for _ in 0..<500 {
      base.execute { ran.raise() }
      #expect(ran.wait(seconds: 10))
    }
    #expect(base.sync { base.isCurrent })
    #expect(!base.isCurrent)
    base.execute { base.invalidate() }
    #expect(ended.wait(seconds: 10))
    host.free()
  }

  // Rule 7 of the architecture.
  @Test("a descriptor that woke the loop does not keep it busy", arguments: backends)
  func noSpin(avoiding: String?) throws {
    let host = Host(avoiding: avoiding)
    let base = try EventBase(adopting: host.base)
    base.execute {}
    let passes = Shared(0)
    while event_base_loop(host.base, EVLOOP_NONBLOCK) == 0, passes.value < 1_000 {
      passes.with { $0 += 1 }
      if event_base_get_num_events(host.base, UInt32(EVENT_BASE_COUNT_ACTIVE)) == 0, passes.value > 5 {
        break
      }
    }
    // Now nothing is due: a blocking pass returns only by its own limit, of which the base's timer is one.
    let fired = Shared(false)
    let begin = monotonicSeconds()
    base.schedule(after: .milliseconds(30)) { fired.with { $0 = true } }
    var turns = 0
    while !fired.value {
      _ = event_base_loop(host.base, EVLOOP_ONCE)
      turns += 1
    }
    #expect(monotonicSeconds() - begin >= 0.03)
    #expect(turns < 20)
    base.invalidate()
    host.free()
  }

  // Rule 7 of the architecture.
  @Test("the base knows its host's thread from the first pass on, and follows it to another")
  func learnsTheThread() throws {
    let host = Host()
    let base = try EventBase(adopting: host.base)
    #expect(!base.isCurrent)
    _ = event_base_loop(host.base, EVLOOP_NONBLOCK)
    #expect(base.isCurrent)
    let moved = onThread {
      base.execute {}
      _ = event_base_loop(host.base, EVLOOP_NONBLOCK)
      #expect(base.isCurrent)
    }
    #expect(moved.wait(seconds: 10))
    #expect(!base.isCurrent)
    _ = event_base_loop(host.base, EVLOOP_NONBLOCK)
    base.invalidate()
    host.free()
  }

  // Rule 7 of the architecture.
  @Test("invalidate runs what is queued, cancels the timers and leaves the host's base empty")
  func invalidate() throws {
    let host = Host()
    let base = try EventBase(adopting: host.base)
    let seen = Shared<[String]>([])
    base.schedule(after: .seconds(60)) { seen.with { $0.append("timer") } }
    _ = event_base_loop(host.base, EVLOOP_NONBLOCK)
    base.execute { seen.with { $0.append("queued") } }
    base.invalidate()
    #expect(seen.value == ["queued"])
    #expect(event_base_get_num_events(host.base, UInt32(EVENT_BASE_COUNT_ADDED)) == 0)
    // With nothing left the host's loop returns 1 at once.
    #expect(event_base_dispatch(host.base) == 1)
    base.invalidate()
    host.free()

    // Afterwards the library's own thread does what the base is asked to.
    let ran = Signal()
    base.execute { ran.raise() }
    #expect(ran.wait(seconds: 10))
    #expect(base.sync { base.isCurrent })
  }

  // Rule 7 of the architecture.
  @Test("invalidate from another thread than before, once the host has stopped, is as good")
  func invalidateElsewhere() throws {
    let host = Host()
    let base = try EventBase(adopting: host.base)
    let ended = host.run()
    base.schedule(after: .seconds(60)) {}
    base.sync { _ = event_base_loopbreak(host.base) }
    #expect(ended.wait(seconds: 10))
    let ran = Shared(false)
    base.execute { ran.with { $0 = true } }
    base.invalidate()
    #expect(ran.value)
    host.free()
  }

  // Rule 7 of the architecture.
  @Test("invalidate inside a closure first runs the closures behind it")
  func invalidateInside() throws {
    let host = Host()
    let base = try EventBase(adopting: host.base)
    let seen = Shared<[Int]>([])
    base.execute {
      seen.with { $0.append(1) }
      base.execute { seen.with { $0.append(4) } }
      base.invalidate()
      seen.with { $0.append(5) }
    }
    base.execute { seen.with { $0.append(2) } }
    base.execute { seen.with { $0.append(3) } }
    #expect(event_base_dispatch(host.base) == 1)
    #expect(seen.value == [1, 2, 3, 4, 5])
    host.free()
  }

  // Rule 7 of the architecture.
  @Test("the last release, on the host's thread or on another, takes the library's event off the base")
  func lastRelease() throws {
    let host = Host()
    var base: EventBase? = try EventBase(adopting: host.base)
    _ = event_base_loop(host.base, EVLOOP_NONBLOCK)
    #expect(base?.isCurrent == true)
    base = nil
    #expect(event_base_get_num_events(host.base, UInt32(EVENT_BASE_COUNT_ADDED)) == 0)

    let held = Shared<EventBase?>(try EventBase(adopting: host.base))
    let ended = host.run()
    held.value?.sync {}
    held.with { $0 = nil }
    #expect(ended.wait(seconds: 10))
    host.free()
  }

  // Rule 7 of the architecture.
  @Test("stop has no effect on a host's loop")
  func stop() throws {
    let host = Host()
    let base = try EventBase(adopting: host.base)
    let ended = host.run()
    base.sync { base.stop() }
    #expect(!ended.wait(seconds: 0.05))
    #expect(base.sync { true })
    base.execute { base.invalidate() }
    #expect(ended.wait(seconds: 10))
    host.free()
  }
}
