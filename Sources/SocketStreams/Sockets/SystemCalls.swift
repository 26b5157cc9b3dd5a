// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The system calls that move bytes and end sockets. Each function makes one call and repeats it only when a signal
// interrupted it; none allocates. The calls that make, ask and configure sockets are in SystemCalls+Making.swift and
// SystemCalls+Options.swift.

internal import Glibc

/// The door to the kernel: every system call of the package that is not libevent's.
enum SystemCalls {
  /// Moves what has arrived, at most `buffer.byteCount` bytes, into `buffer`. Never waits.
  @inline(__always)
  static func receive(_ fd: Int32, into buffer: inout MutableRawSpan) -> IOResult {
    // A receive of no bytes answers 0, which would read as the end of the stream.
    guard buffer.byteCount > 0 else { return .bytes(0) }
    // The pointer is used during the call only.
    return unsafe buffer.withUnsafeMutableBytes { bytes in
      unsafe receive(fd, bytes.baseAddress.unsafelyUnwrapped, bytes.count, 0)
    }
  }

  /// Moves what has arrived into memory that holds at least `count` bytes; `count` is at least 1.
  @inline(__always)
  static func receive(_ fd: Int32, _ memory: UnsafeMutableRawPointer, _ count: Int, _ flags: Int32)
    -> IOResult
  {
    while true {
      let moved = unsafe recv(fd, memory, count, flags | Flag.dontWait)
      if moved > 0 { return .bytes(moved) }
      if moved == 0 { return .end }
      let code = lastError
      if code != EINTR { return blockedOrFailed(code) }
    }
  }

  /// Tells bytes from the end without taking any: `.bytes(1)` when at least one has arrived. A failure is taken, though:
  /// the kernel tells a reset once, and calls the stream ended afterwards, so the caller has to keep it.
  @inline(__always)
  static func peek(_ fd: Int32) -> IOResult {
    var byte: UInt8 = 0
    return unsafe withUnsafeMutableBytes(of: &byte) { bytes in
      unsafe receive(fd, bytes.baseAddress.unsafelyUnwrapped, 1, Flag.peek)
    }
  }

  /// Gives the kernel as many of `bytes` as it takes. Never waits, never raises SIGPIPE, never answers `.end`.
  @inline(__always)
  static func send(_ fd: Int32, _ bytes: RawSpan) -> IOResult {
    // The pointer is used during the call only.
    unsafe bytes.withUnsafeBytes { bytes in
      while true {
        let moved = unsafe Glibc.send(fd, bytes.baseAddress, bytes.count, Flag.noSignal | Flag.dontWait)
        if moved >= 0 { return .bytes(moved) }
        let code = lastError
        if code != EINTR { return blockedOrFailed(code) }
      }
    }
  }

  /// Takes and drops what has arrived, at most about `limit` bytes.
  /// - Returns: How many bytes were dropped, and why it stopped: `.bytes` for the limit.
  static func discardInput(_ fd: Int32, limit: Int) -> (count: Int, outcome: IOResult) {
    var count = 0
    while count < limit {
      // The scratch memory is not initialised and need not be: it is only written.
      let outcome = unsafe withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 16) { scratch in
        unsafe receive(fd, scratch.baseAddress.unsafelyUnwrapped, min(scratch.count, limit - count), 0)
      }
      guard case .bytes(let moved) = outcome else { return (count, outcome) }
      count += moved
    }
    return (count, .bytes(count))
  }

  /// Ends the sending direction: the peer reads what was sent, then the end.
  /// - Returns: 0 or an `errno`.
  @discardableResult
  static func shutdownWriting(_ fd: Int32) -> Int32 {
    shutdown(fd, Flag.shutdownWriting) == 0 ? 0 : lastError
  }

  /// Closes `fd`. Never repeated: on Linux the descriptor is gone even when a signal interrupted the call.
  static func close(_ fd: Int32) {
    _ = Glibc.close(fd)
  }

  /// Closes `fd`, dropping what is not sent: over TCP the peer sees a reset.
  static func abortClose(_ fd: Int32) {
    resetOnClose(fd)
    _ = Glibc.close(fd)
  }

  /// Makes the close of `fd`, whoever does it, drop what is not sent.
  static func resetOnClose(_ fd: Int32) {
    var now = linger(l_onoff: 1, l_linger: 0)
    _ = unsafe setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
  }

  // MARK: - Errors and flags

  /// The calling thread's `errno`.
  @inline(__always)
  static var lastError: Int32 { errno }

  static var inProgress: Int32 { EINPROGRESS }
  static var tryAgain: Int32 { EAGAIN }
  static var refused: Int32 { ECONNREFUSED }
  static var timedOut: Int32 { ETIMEDOUT }

  @inline(__always)
  private static func blockedOrFailed(_ code: Int32) -> IOResult {
    // EWOULDBLOCK is the same number on Linux.
    code == EAGAIN ? .wouldBlock : .failed(code)
  }

  /// Constants as the calls want them: Glibc's module brings them as other integers, as enums, or not at all.
  enum Flag {
    @inline(__always) static var noSignal: Int32 { Int32(MSG_NOSIGNAL) }
    @inline(__always) static var dontWait: Int32 { Int32(MSG_DONTWAIT) }
    @inline(__always) static var peek: Int32 { Int32(MSG_PEEK) }
    static var shutdownWriting: Int32 { Int32(SHUT_WR) }
    static var stream: Int32 { Int32(SOCK_STREAM.rawValue) }
    static var newStream: Int32 {
      Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    }
    static var tcp: Int32 { Int32(IPPROTO_TCP) }
    static var ipv6: Int32 { Int32(IPPROTO_IPV6) }
    /// `<poll.h>` declares POLLRDHUP under `_GNU_SOURCE` only; the number is the kernel's.
    static var pollReadClosed: Int16 { 0x2000 }
  }
}
