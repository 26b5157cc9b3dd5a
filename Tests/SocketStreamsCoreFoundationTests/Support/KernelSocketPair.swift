// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Two connected sockets of the kernel's, for streams on native sockets.

import Glibc

/// Two connected Unix-domain sockets. Each is closed with the object, unless the test closed it.
final class KernelSocketPair {
  let first: Int32
  let second: RawSocket

  init() {
    var fds: [Int32] = [-1, -1]
    precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &fds) == 0)
    first = fds[0]
    second = RawSocket(owning: fds[1])
  }

  deinit { close(first) }
}
