// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A program whose standard input is filled up.

import Glibc

extension DemoProcess {
  /// Writes to standard input as much as the program takes, until it takes no more for a while.
  /// - Returns: How many bytes it took, those in the pipe included; `limit` or more if it goes on taking them.
  func fillInput(limit: Int, untilQuietFor pause: Duration) -> Int {
    // The program may end meanwhile, and the signal that tells would end this process; it stays pending for this thread.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    defer {
      var now = timespec()
      while sigtimedwait(&signals, nil, &now) == SIGPIPE {}
      pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }
    let piece = [UInt8](repeating: UInt8(ascii: "i"), count: 65_536)
    let flags = fcntl(input, F_GETFL)
    _ = fcntl(input, F_SETFL, flags | O_NONBLOCK)
    defer { _ = fcntl(input, F_SETFL, flags) }
    var count = 0
    var request = pollfd(fd: input, events: Int16(POLLOUT), revents: 0)
    while count < limit, poll(&request, 1, Int32(pause / .milliseconds(1))) > 0 {
      let written = Glibc.write(input, piece, piece.count)
      guard written > 0 else { break }
      count += written
    }
    return count
  }
}
