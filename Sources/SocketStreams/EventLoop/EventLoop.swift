// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The machine behind an EventBase: who holds the loop, and how it runs. The queue is in EventLoop+Jobs.swift,
// what lives on the loop in EventLoop+Items.swift, the end in EventLoop+End.swift.

internal import Glibc

/// A libevent loop with a queue, items, deadlines and an orderly end. It never retains its EventBase, whose
/// end is its own.
///
/// `@unchecked Sendable`: `gate` has its own lock; the other variables are touched by the thread that holds
/// the loop, and the holder changes under that lock.
final class EventLoop: EventTarget, @unchecked Sendable {
  /// Who runs the loop.
  enum Kind { case thread, caller, host }
  /// Who may touch libevent. A host's loop is always `running` until it has ended.
  enum Holder { case nobody, running, borrowed, ended }

  let handle: LoopHandle
  let kind: Kind
  let name: String
  let wakeDescriptor: WakeDescriptor

  /// What the loop's thread, or who holds the loop instead, works with.
  struct Inside: ~Copyable {
    var registry = ItemRegistry()
    var deadlines = DeadlineList()
    var deadlineTimer: EventHandle?
    /// Fires when another thread has queued something.
    var wakeEvent: EventHandle?
    /// Fires in the next pass when the loop's own thread has queued something.
    var laterEvent: EventHandle?
    /// The jobs that are being run.
    var batch = JobList()
  }
  let inside = Confined(Inside())
  /// Memory that the loop's streams lend from, one at a time. The loop's thread only.
  var spareBuffer: StreamBuffer?
  private var deadlineTarget: DeadlineTarget?
  /// A host's base calls this object until it has ended, whoever else has let go of it.
  var keepAlive: EventLoop?

  /// What every thread may ask and change. The lock is a leaf: nothing is called and no other lock taken
  /// while it is held, but that of ``shared`` at the end.
  struct Gate {
    var holder: Holder
    var queue = JobList()
    /// Whether something is on its way that makes the loop look into `queue`.
    var isPosted = false
    /// What other threads want to perform while the loop is borrowed.
    var lent: [LoopJob] = []
    var stopRequested = false
    var endRequested = false
    fileprivate var thread = ThreadState.none

    init(_ holder: Holder) { self.holder = holder }
  }
  let gate: Guarded<Gate>
  /// Another holder, or a thread that has gone.
  let changed = Condition()

  fileprivate enum ThreadState { case none, running(UInt), joining, joined }

  /// The library's own loop: a thread that starts with the first use and never ends.
  static let shared: EventLoop = {
    do throws(StreamError) {
      return try startThread(named: "SocketStreams")
    } catch {
      fatalError("start the shared loop: \(error)")
    }
  }()

  /// Makes a loop that runs on a thread of its own until ``stop()`` or ``requestEnd()``.
  static func startThread(named name: String) throws(StreamError) -> EventLoop {
    let loop = try EventLoop(handle: LoopHandle(), kind: .thread, name: name)
    loop.gate.state.thread = .joining  // until the thread is known; nobody else has the loop yet
    do throws(StreamError) {
      let thread = try EventBaseThread.start(named: name) { loop.runThread() }
      loop.gate.withLock { $0.thread = .running(thread) }
      loop.changed.broadcast()
      return loop
    } catch {
      loop.gate.state.thread = .none
      loop.end(runningJobs: false)
      throw error
    }
  }

  /// Makes a loop that runs on the thread that calls ``run()``.
  static func forCaller() throws(StreamError) -> EventLoop {
    try EventLoop(handle: LoopHandle(), kind: .caller, name: "caller")
  }

  /// Uses a host's base. Called on the thread that runs it, or while nobody does.
  static func adopting(_ handle: LoopHandle) throws(StreamError) -> EventLoop {
    let loop = try EventLoop(handle: handle, kind: .host, name: "adopted")
    loop.keepAlive = loop
    // The first pass of the host's loop tells which thread it is.
    loop.wakeDescriptor.signal()
    return loop
  }

  private init(handle: LoopHandle, kind: Kind, name: String) throws(StreamError) {
    do throws(StreamError) {
      wakeDescriptor = try WakeDescriptor()
    } catch {
      handle.free()
      throw error
    }
    self.handle = handle
    self.kind = kind
    self.name = name
    gate = Guarded(Gate(kind == .caller ? .nobody : .running))
    super.init()
    let edge: EventFlags = handle.supportsEdgeTrigger ? .edgeTriggered : []
    inside.state.wakeEvent = EventHandle(
      handle, fd: wakeDescriptor.fd, [.readable, .persist, edge], target: self)
    inside.state.laterEvent = EventHandle(handle, fd: -1, .timeout, target: self)
    let target = DeadlineTarget(self)
    deadlineTarget = target
    inside.state.deadlineTimer = EventHandle(handle, fd: -1, .timeout, target: target)
    guard inside.state.wakeEvent?.add() == true else {
      let code = errno
      freeEvents()
      throw .posix(code, "make an event base")
    }
  }

  deinit {
    if case .running(let thread) = gate.state.thread { EventBaseThread.abandon(thread) }
  }

  // MARK: - Threads

  /// Whether the calling thread is the one that runs the loop, or holds it while nobody does. Once the loop
  /// has ended, whether it is the thread of ``shared``, which then does what is asked of this one.
  var isCurrent: Bool {
    let thread = handle.threadID
    return thread == LoopHandle.ended ? EventLoop.shared.isCurrent : thread == ThreadIdentity.current
  }

  /// Whether the loop has ended; it stays so.
  var hasEnded: Bool { handle.threadID == LoopHandle.ended }

  /// This loop, or ``shared`` once this one has ended.
  var living: EventLoop { hasEnded ? .shared : self }

  /// Monotonic time in nanoseconds.
  func monotonicNow() -> UInt64 { EventBaseThread.monotonicNow() }

  // MARK: - Running

  /// Runs the loop on the calling thread until ``stop()``; at once if that was called before. Does nothing
  /// once it has ended.
  func run() {
    precondition(
      kind == .caller, "run: the base is run by \(kind == .host ? "its host" : "a thread of its own")")
    gate.lock()
    while gate.state.holder == .borrowed {
      precondition(!isCurrent, "run: called by a closure that has borrowed the base")
      gate.wait(changed)
    }
    precondition(gate.state.holder != .running, "run: the base is running already")
    guard gate.state.holder == .nobody else { return gate.unlock() }
    hold(.running)
    gate.unlock()
    runUntilStopped()
    if finishRun() { end(runningJobs: true) }
  }

  private func runThread() {
    handle.threadID = ThreadIdentity.current
    runUntilStopped()
    end(runningJobs: true)
  }

  private func runUntilStopped() {
    guard !gate.withLock({ $0.stopRequested }) else { return }
    EventBaseThread.withoutBrokenPipeSignal { handle.run() }
  }

  /// Runs what was queued before the stop, and lets go of the loop.
  /// - Returns: Whether it is to end instead, still held.
  private func finishRun() -> Bool {
    drain()
    gate.lock()
    while gate.state.queue.contains(where: \.holdsRun) {
      gate.unlock()
      drain()
      gate.lock()
    }
    gate.state.stopRequested = false
    let ends = gate.state.endRequested
    if !ends { letGo() }
    gate.unlock()
    return ends
  }

  /// Ends the run soon; kept for the next run if there is none. A thread's loop ends for good. Any thread.
  func stop() {
    guard kind != .host else { return }
    gate.lock()
    guard gate.state.holder != .ended else { return gate.unlock() }
    gate.state.stopRequested = true
    gate.unlock()
    interrupt()
  }

  func interrupt() {
    if isCurrent { handle.breakLoop() } else { wakeDescriptor.signal() }
  }

  /// Waits until the loop's thread is gone. Returns at once for a loop without one.
  func join() {
    // Asked first, as "current" means the shared loop's thread once this one has ended, and would start it.
    precondition(hasEnded || !isCurrent, "join: a thread cannot wait for its own end")
    gate.lock()
    while case .joining = gate.state.thread { gate.wait(changed) }
    guard case .running(let id) = gate.state.thread else { return gate.unlock() }
    gate.state.thread = .joining
    gate.unlock()
    EventBaseThread.join(id)
    gate.withLock { $0.thread = .joined }
    changed.broadcast()
  }

  /// Makes the calling thread the holder. The lock is held, and nobody holds the loop.
  func hold(_ way: Holder) {
    gate.state.holder = way
    handle.threadID = ThreadIdentity.current
  }

  /// The lock is held.
  private func letGo() {
    gate.state.holder = .nobody
    handle.threadID = 0
    changed.broadcast()
  }

  /// Ends a borrowing: first does what others wanted to perform meanwhile.
  func endBorrow() {
    while true {
      gate.lock()
      guard !gate.state.lent.isEmpty else { break }
      let jobs = gate.state.lent
      gate.state.lent = []
      gate.unlock()
      for job in jobs { run(job) }
    }
    let ends = gate.state.endRequested
    if !ends { letGo() }
    gate.unlock()
    if ends { end(runningJobs: false) }
  }

  // MARK: - Events

  /// Something was queued, or a stop asked for.
  override func eventFired(_ flags: EventFlags) {
    if flags.contains(.readable), !handle.supportsEdgeTrigger { wakeDescriptor.clear() }
    guard drain() else { return }
    if kind != .host {
      handle.breakLoop()
    } else if gate.withLock({ $0.holder != .ended }) {
      end(runningJobs: true)
    }
  }
}

/// Forwards the timer of the deadlines.
///
/// `@unchecked Sendable`: nothing changes after `init`.
private final class DeadlineTarget: EventTarget, @unchecked Sendable {
  /// The loop owns this target and frees the timer before it goes.
  private unowned let loop: EventLoop

  init(_ loop: EventLoop) {
    self.loop = loop
    super.init()
  }

  override func eventFired(_ flags: EventFlags) { loop.scanDeadlines() }
}
