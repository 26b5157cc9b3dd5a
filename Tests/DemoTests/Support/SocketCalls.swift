// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Blocking system calls for the tests' own ends of a connection.

import Glibc

/// Plain sockets.
enum SocketCalls {
  /// A listening socket on 127.0.0.1 and a free port, or at `path`.
  static func listen(path: String?, backlog: Int32) -> Int32 {
    let fd: Int32
    if let path {
      fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      withUnixAddress(path) { precondition(bind(fd, $0, $1) == 0, "bind \(path): \(errno)") }
    } else {
      fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      withAddress(port: 0) { precondition(bind(fd, $0, $1) == 0, "bind: \(errno)") }
    }
    precondition(Glibc.listen(fd, backlog) == 0, "listen: \(errno)")
    return fd
  }

  /// A connection to a port of 127.0.0.1, or -1.
  static func connect(port: UInt16, hasSmallBuffers: Bool = false) -> Int32 {
    let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    if hasSmallBuffers { keepBuffersSmall(fd) }
    let result = withAddress(port: port) { Glibc.connect(fd, $0, $1) }
    if result != 0 {
      close(fd)
      return -1
    }
    return fd
  }

  /// A connection to a Unix-domain socket, or -1.
  static func connect(path: String) -> Int32 {
    let fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let result = withUnixAddress(path) { Glibc.connect(fd, $0, $1) }
    if result != 0 {
      close(fd)
      return -1
    }
    return fd
  }

  /// A port of 127.0.0.1 that is taken, and refuses connections until the descriptor is closed.
  static func refusingPort() -> (fd: Int32, port: UInt16) {
    let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    withAddress(port: 0) { precondition(bind(fd, $0, $1) == 0, "bind: \(errno)") }
    return (fd, port(of: fd))
  }

  static func port(of fd: Int32) -> UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(fd, $0, &length) }
    }
    return UInt16(bigEndian: address.sin_port)
  }

  /// Sends all of `bytes`; whether the peer took them.
  static func sendAll(_ fd: Int32, _ bytes: [UInt8]) -> Bool {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes {
        send(fd, $0.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      done += count
    }
    return true
  }

  /// Reads until the end, or until `limit` bytes are there.
  static func readAll(_ fd: Int32, limit: Int = .max) -> [UInt8] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while bytes.count < limit, case let count = recv(fd, &piece, piece.count, 0), count > 0 {
      bytes += piece[..<count]
    }
    return bytes
  }

  /// Sends as much of `bytes` as the peer takes, until it has taken nothing for a while.
  /// - Returns: How many bytes the peer's system has acknowledged.
  static func flood(_ fd: Int32, _ bytes: [UInt8]) -> Int {
    var (sent, left, rounds) = (0, Int32(0), 0)
    while rounds < 300 {
      let (before, leftBefore) = (sent, left)
      let count = bytes.withUnsafeBytes {
        send(fd, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      }
      sent += max(count, 0)
      guard ioctl(fd, UInt(TIOCOUTQ), &left) == 0 else { break }
      rounds = sent == before && left == leftBefore ? rounds + 1 : 0
      usleep(1_000)
    }
    return sent - Int(left)
  }

  /// Has `close` send RST.
  static func resetOnClose(_ fd: Int32) {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  /// Has little fit into the kernel of what this end does not read: a small window, and small segments, by whose size
  /// the other end's buffer goes. To be called before connecting or listening.
  static func keepBuffersSmall(_ fd: Int32) {
    var size: Int32 = 2_304
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    var segment: Int32 = 536
    setsockopt(fd, Int32(IPPROTO_TCP), TCP_MAXSEG, &segment, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Waits until `fd` can be read; `false` if `stopped` ended first.
  static func wait(_ stopped: Int32, until fd: Int32) -> Bool {
    var requests = [
      pollfd(fd: stopped, events: Int16(POLLIN), revents: 0),
      pollfd(fd: fd, events: Int16(POLLIN), revents: 0),
    ]
    while poll(&requests, 2, -1) < 0, errno == EINTR {}
    return requests[0].revents == 0
  }

  static func pipe() -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [0, 0]
    withoutSpawning {
      precondition(Glibc.pipe(&ends) == 0, "pipe: \(errno)")
      ends.forEach { closeOnExec($0) }
    }
    return (ends[0], ends[1])
  }

  /// The next connection, or -1.
  static func accept(_ listener: Int32) -> Int32 {
    withoutSpawning {
      let fd = Glibc.accept(listener, nil, nil)
      if fd >= 0 { closeOnExec(fd) }
      return fd
    }
  }

  /// Keeps programs from being started meanwhile: they would inherit a descriptor that is not yet close-on-exec, and
  /// keep its connection open.
  static func withoutSpawning<R>(_ body: () -> R) -> R {
    spawning.access { count in
      count += 1
      return body()
    }
  }

  private static let spawning = Monitor(0)

  private static func closeOnExec(_ fd: Int32) {
    precondition(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0, "fcntl: \(errno)")
  }

  static func withAddress<R>(port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private static func withUnixAddress<R>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R)
    -> R
  {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
