// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a stream's descriptor tells and does that the stream itself has no property for.

import Glibc

/// Questions to a connected socket.
enum SocketState {
  /// Whether nothing more can be written: what was taken is with the kernel, and so is the end.
  static func outputIsShutDown(_ fd: Int32) -> Bool {
    // Of no bytes the kernel only says whether it would take any.
    send(fd, nil, 0, Int32(MSG_NOSIGNAL)) < 0 && errno == EPIPE
  }

  /// Why the connection broke, if the kernel knows and nobody has asked yet.
  static func pendingError(_ fd: Int32) -> Int32? {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard unsafe getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) == 0, code != 0 else { return nil }
    return code
  }

  /// Whether a TCP connection is over for the kernel, as after a reset; what it has not sent by then it never will.
  static func isGone(_ fd: Int32) -> Bool {
    var state: UInt8 = 0
    var length = socklen_t(MemoryLayout<UInt8>.size)
    // The first byte of what the kernel tells is the connection's state.
    let answer = unsafe getsockopt(fd, Int32(IPPROTO_TCP), TCP_INFO, &state, &length)
    return answer == 0 && Int32(state) == Int32(TCP_CLOSE)
  }

  /// Has the socket send nothing more, and reset the connection when it is closed.
  static func cut(_ fd: Int32) {
    var option = linger(l_onoff: 1, l_linger: 0)
    unsafe setsockopt(fd, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    shutdown(fd, Int32(SHUT_RDWR))
  }
}
