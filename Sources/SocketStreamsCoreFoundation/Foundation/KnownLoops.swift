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
