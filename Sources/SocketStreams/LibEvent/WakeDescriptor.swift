// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The eventfd through which other threads wake a loop.
internal import CLibEvent
internal import Glibc

/// An eventfd. ``signal()`` may be called on any thread for as long as this value lives.
struct WakeDescriptor: ~Copyable, Sendable {
  let fd: Int32

  init() throws(StreamError) {
    let made = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    guard made >= 0 else { throw .posix(errno, "make an event base") }
    fd = made
  }

  deinit { _ = Glibc.close(fd) }

  /// Makes the descriptor readable: a new edge each time. The counter cannot fill up within centuries.
  borrowing func signal() {
    var one: UInt64 = 1
    while unsafe write(fd, &one, 8) < 0, errno == EINTR {}
  }

  /// Makes it unreadable again: needed only where the loop has no edge-triggered events.
  borrowing func clear() {
    var count: UInt64 = 0
    while unsafe read(fd, &count, 8) < 0, errno == EINTR {}
  }
}
