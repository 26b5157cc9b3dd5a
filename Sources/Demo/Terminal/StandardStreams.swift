// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Descriptors 0, 1 and 2, and files: whole writes, with the two ways in which they end early told apart.

import Glibc

/// Why output stopped.
enum OutputFailure: Error, Hashable, Sendable {
  /// Nobody reads any more: EPIPE. No reason to say anything.
  case readerGone
  /// The `errno` of anything else, a full disk for instance.
  case failed(Int32)

  /// How the program ends because of it.
  var exitCode: ExitCode { self == .readerGone ? .outputGone : .localFile }
}

/// The standard descriptors.
enum StandardStreams {
  static let input: Int32 = 0
  static let output: Int32 = 1
  static let error: Int32 = 2

  /// Writes all of `bytes`. Interruptions are retried; a descriptor that does not block is waited for.
  static func write(_ bytes: [UInt8], to fd: Int32) throws(OutputFailure) {
    var done = 0
    while done < bytes.count {
      // The pointer is used during the call only, and reaches to the end of the array.
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe Glibc.write(fd, buffer.baseAddress.map { unsafe $0 + done }, buffer.count - done)
      }
      if count >= 0 {
        done += count
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN: wait(for: POLLOUT, on: fd)
      case EPIPE: throw .readerGone
      default: throw .failed(errno)
      }
    }
  }

  /// Writes `text`.
  static func write(_ text: String, to fd: Int32) throws(OutputFailure) {
    try write(Array(text.utf8), to: fd)
  }

  /// Puts something in the place of standard descriptors that the program was started without: a socket that took such a
  /// number would get the output. What stands there refuses, so that lost output is an error.
  static func fillGaps() {
    for fd in [input, output, error] where fcntl(fd, F_GETFD) < 0 {
      // The lowest free number is `fd`, since those below it are taken.
      _ = unsafe open("/dev/null", fd == input ? O_WRONLY : O_RDONLY)
    }
  }

  /// Has a write to a pipe without a reader return EPIPE. A program may do this; a library may not.
  static func ignoreBrokenPipes() { _ = signal(SIGPIPE, SIG_IGN) }

  static func isTerminal(_ fd: Int32) -> Bool { isatty(fd) == 1 }

  /// The columns of the terminal behind `fd`, if it is one and knows.
  static func columns(of fd: Int32) -> Int? {
    // A `winsize`: rows, columns, and two fields that nobody uses. The struct itself is owned by whichever C module was
    // built first, so a clean build may not find its members.
    var size: InlineArray<4, UInt16> = [0, 0, 0, 0]
    let result = unsafe ioctl(fd, UInt(TIOCGWINSZ), &size)
    return result == 0 && size[1] > 0 ? Int(size[1]) : nil
  }

  /// How many bytes the kernel holds of what was written to a socket: not sent, or not acknowledged.
  static func unsentCount(of fd: Int32) -> Int32 {
    var count: Int32 = 0
    return unsafe ioctl(fd, UInt(TIOCOUTQ), &count) == 0 ? count : 0
  }

  /// Waits until `fd`, which does not block, is ready.
  static func wait(for event: Int32, on fd: Int32) {
    var request = pollfd(fd: fd, events: Int16(event), revents: 0)
    _ = unsafe poll(&request, 1, -1)
  }
}
