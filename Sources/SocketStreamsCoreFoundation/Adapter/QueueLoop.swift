// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The run loop of CoreFoundation's own thread, by way of which streams with a dispatch queue are called.

import CoreFoundation
import SocketStreams
import Synchronization

/// There is one such loop a process, and no function that tells it: it is learnt from the first stream with a queue.
enum QueueLoop {
  /// Held while a stream gets a queue or loses it, and on the loop while a stream is asked for its queue: CFStream first
  /// schedules the stream there, and sets the queue then. Taken before all others, and never while a client is called.
  static let changes = Lock()

  /// The loop's address; 0 before it is known. CoreFoundation never ends its thread.
  private static let known = Atomic<UInt>(0)

  static func learn(_ loop: CFRunLoop) { known.store(address(of: loop), ordering: .relaxed) }

  /// Whether it is known that a stream that is performed on `loop` has no queue.
  static func isOther(than loop: CFRunLoop) -> Bool {
    let address = known.load(ordering: .relaxed)
    return address != 0 && address != self.address(of: loop)
  }

  /// What makes a second place of the loop, which is the first once more: its default mode is one of the common ones. A mode
  /// of its own would cost descriptors, without which CoreFoundation ends the process.
  static var secondMode: CFString { kCFRunLoopCommonModes }

  /// Whether that place is the second one of this loop.
  static func isSecond(_ loop: CFRunLoop, _ mode: CFString) -> Bool {
    known.load(ordering: .relaxed) == address(of: loop) && CFEqual(mode, secondMode)
  }

  private static func address(of loop: CFRunLoop) -> UInt { UInt(bitPattern: ObjectIdentifier(loop)) }
}
