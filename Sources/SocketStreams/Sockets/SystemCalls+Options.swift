// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// System calls that ask about a descriptor, configure it, or wait for it.

internal import Glibc

extension SystemCalls {
  // MARK: - Addresses and kinds

  /// The address of this end; of an IPv4 connection on an IPv6 socket the IPv4 one.
  static func localAddress(_ fd: Int32) throws(StreamError) -> SocketAddress {
    var address = SocketAddress(.unix([]))
    let outcome = unsafe SocketAddress.filled(&address) { memory, length in
      unsafe getsockname(fd, memory.assumingMemoryBound(to: sockaddr.self), length)
    }
    guard outcome == 0 else { throw .posix(lastError, "getsockname") }
    return address.unmapped
  }

  /// The address of the other end; of an IPv4 connection on an IPv6 socket the IPv4 one.
  static func peerAddress(_ fd: Int32) throws(StreamError) -> SocketAddress {
    var address = SocketAddress(.unix([]))
    let outcome = unsafe SocketAddress.filled(&address) { memory, length in
      unsafe getpeername(fd, memory.assumingMemoryBound(to: sockaddr.self), length)
    }
    guard outcome == 0 else { throw .posix(lastError, "getpeername") }
    return address.unmapped
  }

  /// `SOCK_STREAM`, `SOCK_DGRAM`…, or `nil` if `fd` is no socket.
  static func socketType(_ fd: Int32) -> Int32? {
    option(fd, level: SOL_SOCKET, name: SO_TYPE)
  }

  /// Whether `fd` is a socket that carries a byte stream. (S17)
  static func isStreamSocket(_ fd: Int32) -> Bool {
    socketType(fd) == Flag.stream
  }

  /// Whether `fd` is an open descriptor at all.
  static func isValid(_ fd: Int32) -> Bool {
    fcntl(fd, F_GETFD) >= 0
  }

  // MARK: - Options

  /// The outcome of a connect that was under way, which asking for it clears.
  /// - Returns: 0 when connected, otherwise an `errno`.
  static func socketError(_ fd: Int32) -> Int32 {
    option(fd, level: SOL_SOCKET, name: SO_ERROR) ?? lastError
  }

  /// An option whose value is an integer; `nil` if the socket has no such option.
  static func option(_ fd: Int32, level: Int32, name: Int32) -> Int32? {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return unsafe getsockopt(fd, level, name, &value, &length) == 0 ? value : nil
  }

  /// Sets an option whose value is an integer.
  /// - Returns: 0 or an `errno`.
  static func setOption(_ fd: Int32, level: Int32, name: Int32, value: Int32) -> Int32 {
    var value = value
    let length = socklen_t(MemoryLayout<Int32>.size)
    return unsafe setsockopt(fd, level, name, &value, length) == 0 ? 0 : lastError
  }

  /// Whether calls on `fd` return instead of waiting; `nil` if `fd` is not open.
  static func isNonBlocking(_ fd: Int32) -> Bool? {
    let flags = fcntl(fd, F_GETFL)
    return flags < 0 ? nil : flags & O_NONBLOCK != 0
  }

  /// Chooses whether calls on `fd`, and on every descriptor that shares its open file, return instead of waiting.
  /// - Returns: 0 or an `errno`.
  @discardableResult
  static func setNonBlocking(_ fd: Int32, _ nonBlocking: Bool) -> Int32 {
    let flags = fcntl(fd, F_GETFL)
    guard flags >= 0 else { return lastError }
    let wanted = nonBlocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK
    guard wanted != flags else { return 0 }
    return fcntl(fd, F_SETFL, wanted) == 0 ? 0 : lastError
  }

  /// How many bytes the kernel still holds for the peer (`SIOCOUTQ`); `nil` where it does not say. A Unix socket counts
  /// the memory that it uses, which is more, but 0 means none in both.
  static func unsentCount(_ fd: Int32) -> Int? {
    var count: Int32 = 0
    // SIOCOUTQ is the same number as TIOCOUTQ; the module has only the latter.
    return unsafe ioctl(fd, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : nil
  }

  // MARK: - Waiting

  /// What a thread waits for, or what it found. Raw values are poll's.
  struct Readiness: OptionSet {
    let rawValue: Int16
    static let readable = Self(rawValue: Int16(POLLIN))
    static let writable = Self(rawValue: Int16(POLLOUT))
    /// The peer sends no more; bytes may be left to read.
    static let readClosed = Self(rawValue: Flag.pollReadClosed)
    /// Found without being asked for.
    static let failed = Self(rawValue: Int16(POLLERR))
    static let hungUp = Self(rawValue: Int16(POLLHUP))
    static let invalid = Self(rawValue: Int16(POLLNVAL))
  }

  enum WaitOutcome: Equatable {
    /// The descriptor is ready, or has failed or hung up, which the next call on it tells more about.
    case ready(Readiness)
    /// The wake descriptor became readable first. It is not cleared.
    case woken
    case timedOut
    case failed(Int32)
  }

  /// Blocks the calling thread until `fd` is ready, `wakeDescriptor` is readable, or `timeout` has passed.
  ///
  /// - Parameter timeout: `nil` waits for ever, zero only looks.
  static func wait(
    _ fd: Int32, for readiness: Readiness, wakeDescriptor: Int32? = nil, timeout: Duration? = nil
  ) -> WaitOutcome {
    let deadline = timeout.map { monotonicNow() &+ $0.clampedNanoseconds }
    while true {
      var entries = (
        pollfd(fd: fd, events: readiness.rawValue, revents: 0),
        // poll ignores a negative descriptor.
        pollfd(fd: wakeDescriptor ?? -1, events: Int16(POLLIN), revents: 0)
      )
      // A tuple of two equal structs is laid out like an array of two.
      let count = unsafe withUnsafeMutablePointer(to: &entries) { pair in
        unsafe pair.withMemoryRebound(to: pollfd.self, capacity: 2) {
          unsafe poll($0, 2, milliseconds(until: deadline))
        }
      }
      if count > 0 { return entries.0.revents != 0 ? .ready(Readiness(rawValue: entries.0.revents)) : .woken }
      if count < 0 {
        let code = lastError
        if code != EINTR { return .failed(code) }
      } else if let deadline, monotonicNow() >= deadline {
        return .timedOut
      }
    }
  }

  /// Nanoseconds of a clock that only goes forward.
  static func monotonicNow() -> UInt64 { EventBaseThread.monotonicNow() }

  /// Rounded up, so that the wait does not spin just before the deadline; -1 waits for ever.
  private static func milliseconds(until deadline: UInt64?) -> Int32 {
    guard let deadline else { return -1 }
    let now = monotonicNow()
    guard deadline > now else { return 0 }
    return Int32(clamping: (deadline - now + 999_999) / 1_000_000)
  }
}
