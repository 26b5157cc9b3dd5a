// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// CoreFoundation's dispatch queue functions, which its headers hide from Swift on Linux.

public import CoreFoundation
public import Dispatch
import SocketStreams

/// Has the client of `stream` called on `queue`, which must be serial, and takes the stream off every run loop; `nil` stops
/// the calls. Works for any stream of CoreFoundation's, from any thread.
///
/// A stream with a queue is kept alive until it is closed or loses the queue.
///
/// Corresponds to `CFReadStreamSetDispatchQueue`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public func CFReadStreamSetDispatchQueue(_ stream: CFReadStream, _ queue: DispatchQueue?) {
  QueueLoop.changes.withLock { unsafe SocketStreamsSetReadQueue(stream, queue?.nativeQueue) }
}

/// Has the client of `stream` called on `queue`, which must be serial, and takes the stream off every run loop; `nil` stops
/// the calls. Works for any stream of CoreFoundation's, from any thread.
///
/// A stream with a queue is kept alive until it is closed or loses the queue.
///
/// Corresponds to `CFWriteStreamSetDispatchQueue`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public func CFWriteStreamSetDispatchQueue(_ stream: CFWriteStream, _ queue: DispatchQueue?) {
  QueueLoop.changes.withLock { unsafe SocketStreamsSetWriteQueue(stream, queue?.nativeQueue) }
}

extension DispatchQueue {
  /// The `dispatch_queue_t` that a queue of Swift's wraps. There is no function that tells it; it is the queue's only
  /// stored property, here and in the toolchain's own sources.
  var nativeQueue: UnsafeMutableRawPointer {
    guard let pointer = unsafe Mirror(reflecting: self).descendant("__wrapped") as? OpaquePointer else {
      preconditionFailure("a DispatchQueue of this toolchain does not show the queue of libdispatch in it")
    }
    return unsafe UnsafeMutableRawPointer(pointer)
  }
}
