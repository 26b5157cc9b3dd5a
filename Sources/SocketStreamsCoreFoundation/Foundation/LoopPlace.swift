// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A run loop of Foundation's and one of its modes.

import CoreFoundation
import Foundation

/// Where a Foundation stream is scheduled.
///
/// `@unchecked Sendable`: what changes is guarded by the lock of the ``DelegateDelivery`` that has the place. `runLoop`, which
/// another thread may run, is compared, and given timers, which CoreFoundation allows on any thread.
final class LoopPlace: @unchecked Sendable {
  let runLoop: RunLoop
  let mode: RunLoop.Mode
  let cfMode: CFString
  /// The loop itself, once it is known.
  var loop: CFRunLoop?
  /// Finds out the loop, until then: a timer, which wakes the run loop, as a block for it does not. Foundation never frees a
  /// timer, nor what its block holds: so the block holds nothing.
  var finder: Timer?
  /// CFStream knows this place.
  var isPlaced = false
  /// ``DelegateDelivery/look(_:)`` will be called on the loop.
  var isLookDue = false

  init(_ runLoop: RunLoop, _ mode: RunLoop.Mode) {
    self.runLoop = runLoop
    self.mode = mode
    cfMode = mode.cfMode
    loop = KnownLoops.shared.loop(of: runLoop)
  }

  /// The finder, which is needed no more.
  func takeFinder() -> Timer? {
    defer { finder = nil }
    return finder
  }

  /// Has the loop, which is known, do `work` the next time it runs in this mode.
  func perform(_ work: @escaping @Sendable () -> Void) {
    CFRunLoopPerformBlock(loop, cfMode, work)
    CFRunLoopWakeUp(loop)
  }
}

extension RunLoop.Mode {
  /// CoreFoundation knows the common modes by the constant itself, not by its characters.
  fileprivate var cfMode: CFString {
    switch self {
    case .common: kCFRunLoopCommonModes
    case .default: kCFRunLoopDefaultMode
    default: rawValue.cfString
    }
  }
}

/// Where code runs now.
struct CurrentLoop {
  let loop: CFRunLoop = CFRunLoopGetCurrent()
  /// CFStream runs the loop inside a read or a write of the user's, which waits for the opening.
  let isInsideCall: Bool

  init() {
    isInsideCall = CFRunLoopCopyCurrentMode(loop).map { CFEqual($0, Delivery.awaitingMode) } ?? false
  }
}
