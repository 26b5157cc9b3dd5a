// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A thread that runs CoreFoundation's loop, for tasks whose streams are CoreFoundation's or Foundation's.

import CoreFoundation
import Dispatch
import Foundation
import Glibc

/// A thread that runs a run loop until it is asked to stop.
///
/// `@unchecked Sendable`: `loop` is guarded by `lock`; `thread` is set by the thread before `start` returns, and `isStopped`
/// touched by it only; the loop's functions that are used here are for any thread.
final class RunLoopThread: NetworkLoop, @unchecked Sendable {
  private let lock = NSLock()
  private var loop: CFRunLoop?
  private var thread = pthread_t()
  private var isStopped = false
  private let running = DispatchGroup()

  private init() { running.enter() }

  /// The thread's loop; `nil` once it has ended.
  var runLoop: CFRunLoop? { lock.withLock { loop } }

  /// Starts a thread, and waits until its loop is there.
  static func start(named name: String) -> RunLoopThread {
    let started = RunLoopThread()
    let isThere = DispatchSemaphore(value: 0)
    let thread = Thread { started.run { isThere.signal() } }
    thread.name = name
    thread.start()
    isThere.wait()
    return started
  }

  private func run(_ isThere: () -> Void) {
    let runLoop: CFRunLoop = CFRunLoopGetCurrent()
    lock.withLock { loop = runLoop }
    thread = pthread_self()
    // A loop that has nothing to wait for ends.
    var context = unsafe CFRunLoopSourceContext()
    unsafe context.perform = { _ in }
    let source = unsafe CFRunLoopSourceCreate(nil, 0, &context)
    CFRunLoopAddSource(runLoop, source, kCFRunLoopCommonModes)
    isThere()
    while !isStopped { CFRunLoopRun() }
    lock.withLock { loop = nil }
    // What was queued meanwhile may hold this thread's object, and would keep the loop with it.
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false)
    CFRunLoopSourceInvalidate(source)
    running.leave()
  }

  // MARK: - NetworkLoop

  /// After the end of the loop nothing is run any more.
  func execute(_ body: sending @escaping () -> Void) {
    lock.lock()
    defer { lock.unlock() }
    guard let loop else { return }
    CFRunLoopPerformBlock(loop, kCFRunLoopCommonModes, body)
    CFRunLoopWakeUp(loop)
  }

  func schedule(after delay: Duration, repeating: Bool, _ body: sending @escaping () -> Void) -> RunLoopTimer
  {
    let seconds = delay / .seconds(1)
    let timer = CFRunLoopTimerCreateWithHandler(
      nil, CFAbsoluteTimeGetCurrent() + seconds, repeating ? seconds : 0, 0, 0
    ) { _ in body() }
    if let runLoop { CFRunLoopAddTimer(runLoop, timer, kCFRunLoopCommonModes) }
    return RunLoopTimer(timer: timer)
  }

  func stop() {
    // CFRunLoopStop has no effect on a loop that does not run yet.
    execute {
      self.isStopped = true
      CFRunLoopStop(CFRunLoopGetCurrent())
    }
  }

  func join() { running.wait() }

  // MARK: - SerialExecutor

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    execute { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func checkIsolated() { precondition(isCurrent, "not on the thread of the loop") }
  func isIsolatingCurrentContext() -> Bool? { isCurrent }

  private var isCurrent: Bool { pthread_equal(pthread_self(), thread) != 0 }
}

/// A timer of a run loop.
struct RunLoopTimer: LoopTimer {
  fileprivate let timer: CFRunLoopTimer?

  func cancel() { CFRunLoopTimerInvalidate(timer) }
}
