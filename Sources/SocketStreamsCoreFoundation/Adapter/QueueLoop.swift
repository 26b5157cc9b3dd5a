// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The run loop of CoreFoundation's own thread, by way of which streams with a dispatch queue are called.

import CoreFoundation
import Synchronization

/// There is one such loop a process, and no function that tells it: it is learnt from the first stream with a queue.
enum QueueLoop {
  /// The loop's address. CoreFoundation never ends its thread.
  private static let known = Atomic<UInt>(0)

  static func learn(_ loop: CFRunLoop) { known.store(address(of: loop), ordering: .relaxed) }

  static func isKnown(_ loop: CFRunLoop) -> Bool { known.load(ordering: .relaxed) == address(of: loop) }

  private static func address(of loop: CFRunLoop) -> UInt {
    UInt(bitPattern: ObjectIdentifier(loop))
  }
}
