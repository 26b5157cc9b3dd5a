// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The few errno values that layers above the system calls decide by.

internal import Glibc

enum Errno {
  static let timedOut = ETIMEDOUT
  static let badDescriptor = EBADF
  static let notSocket = ENOTSOCK
  static let wrongType = EPROTOTYPE
  static let notConnected = ENOTCONN
  static let busy = EBUSY
  static let aborted = ECONNABORTED
  static let brokenPipe = EPIPE
  static let noBuffers = ENOBUFS
  static let invalidArgument = EINVAL
  static let noSuchOption = ENOPROTOOPT
}

/// The socket options behind properties.
struct SocketOption: Sendable {
  let level: Int32
  let name: Int32

  static let noDelay = SocketOption(level: SystemCalls.Flag.tcp, name: TCP_NODELAY)
  static let sendBuffer = SocketOption(level: SOL_SOCKET, name: SO_SNDBUF)
  static let receiveBuffer = SocketOption(level: SOL_SOCKET, name: SO_RCVBUF)
}
