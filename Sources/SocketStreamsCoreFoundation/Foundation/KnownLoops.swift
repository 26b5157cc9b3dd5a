// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Foundation does not say which CFRunLoop a RunLoop is. It is known for the loop of the calling thread and for the main one;
// any other has to be asked on its own thread.

import CoreFoundation
import Foundation
import SocketStreams

/// The loops that were found out.
///
/// `@unchecked Sendable`: what changes is guarded by `lock`; run loops are compared only.
final class KnownLoops: @unchecked Sendable {
  static let shared = KnownLoops()

  private struct Entry {
    weak var runLoop: RunLoop?
    let loop: CFRunLoop
  }

  private let lock = Lock()
  private var entries: [ObjectIdentifier: Entry] = [:]

  func loop(of runLoop: RunLoop) -> CFRunLoop? {
    if runLoop === RunLoop.current { return CFRunLoopGetCurrent() }
    if runLoop === RunLoop.main { return CFRunLoopGetMain() }
    return lock.withLock {
      guard let entry = entries[ObjectIdentifier(runLoop)], entry.runLoop === runLoop else { return nil }
      return entry.loop
    }
  }

  /// On the thread that runs `runLoop`.
  func add(_ runLoop: RunLoop) -> CFRunLoop {
    let loop: CFRunLoop = CFRunLoopGetCurrent()
    lock.withLock {
      entries = entries.filter { $0.value.runLoop != nil }
      entries[ObjectIdentifier(runLoop)] = Entry(runLoop: runLoop, loop: loop)
    }
    return loop
  }
}

/// Has a run loop do some work the next time it runs in a mode: by a timer, which wakes the loop, as a block for it does not.
///
/// Foundation never frees a timer, nor what its block holds. That is no more than this object once the work was done or is not
/// wanted, and one for each place that is scheduled before its run loop is first found: it is known from then on.
///
/// `@unchecked Sendable`: what changes is guarded by `lock`. The timer is made before anyone else knows this object.
final class LoopFinder: @unchecked Sendable {
  private let lock = Lock()
  private var work: (() -> Void)?
  private var timer: Timer?

  init(_ work: @escaping () -> Void) {
    self.work = work
    timer = Timer(timeInterval: 0, repeats: false) { [self] _ in takeAll().work?() }
  }

  func start(on runLoop: RunLoop, _ mode: RunLoop.Mode) {
    if let timer = lock.withLock({ timer }) { runLoop.add(timer, forMode: mode) }
  }

  func cancel() { takeAll().timer?.invalidate() }

  private func takeAll() -> (work: (() -> Void)?, timer: Timer?) {
    lock.withLock {
      defer { (work, timer) = (nil, nil) }
      return (work, timer)
    }
  }
}
