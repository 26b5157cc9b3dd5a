// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A test's own end of a connection that is made of lines: plain blocking sockets, each wait with a limit.

import Glibc
import Testing

/// One end of a connection.
final class LineSocket {
  private(set) var fd: Int32
  private var received: [UInt8] = []
  private(set) var hasEnded = false

  /// Takes over `fd`.
  init(_ fd: Int32) { self.fd = fd }

  /// Connects to a port of 127.0.0.1.
  convenience init(port: UInt16) throws {
    let fd = SocketCalls.connect(port: port)
    try #require(fd >= 0)
    self.init(fd)
  }

  deinit { close() }

  func close() {
    if fd >= 0 { Glibc.close(fd) }
    fd = -1
  }

  /// Closes with RST.
  func reset() {
    SocketCalls.resetOnClose(fd)
    close()
  }

  /// Ends the sending direction.
  func finish() { shutdown(fd, Int32(SHUT_WR)) }

  @discardableResult
  func send(_ text: String) -> Bool { SocketCalls.sendAll(fd, Array(text.utf8)) }

  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool { SocketCalls.sendAll(fd, bytes) }

  /// The next line, without its end; `nil` when there is none because of the peer's end or the time.
  func line(seconds: Int = 20) -> String? {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while true {
      if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
        defer { received.removeSubrange(...end) }
        return String(decoding: received[..<end], as: UTF8.self)
      }
      guard receive(until: deadline) else { return nil }
    }
  }

  /// The next `count` lines, or those that there are.
  func lines(_ count: Int, seconds: Int = 20) -> [String] {
    var lines: [String] = []
    while lines.count < count, let line = line(seconds: seconds) { lines.append(line) }
    return lines
  }

  /// What comes until the peer's end.
  func rest(seconds: Int = 20) -> String {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while receive(until: deadline) {}
    defer { received = [] }
    return String(decoding: received, as: UTF8.self)
  }

  /// Receives more; `false` after the end, or when the time is over.
  private func receive(until deadline: ContinuousClock.Instant) -> Bool {
    var request = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
    var piece = [UInt8](repeating: 0, count: 65_536)
    while !hasEnded, ContinuousClock.now < deadline {
      guard poll(&request, 1, 50) > 0 else { continue }
      let count = recv(fd, &piece, piece.count, 0)
      guard count > 0 else {
        hasEnded = true
        return false
      }
      received += piece[..<count]
      return true
    }
    return false
  }
}

/// A server whose every step the test takes itself.
final class LineListener {
  let port: UInt16
  private var fd: Int32

  /// - Parameters:
  ///   - port: A port that was a listener's before; 0 for any.
  ///   - hasSmallBuffers: Whether little fits into the kernel between a client and a server that does not read.
  init(port: UInt16 = 0, hasSmallBuffers: Bool = false) throws {
    let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    if hasSmallBuffers { SocketCalls.keepBuffersSmall(fd) }
    var reuse: Int32 = 1
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
    let isBound = SocketCalls.withAddress(port: port) { bind(fd, $0, $1) == 0 }
    try #require(isBound && listen(fd, 16) == 0, "port \(port): \(errno)")
    self.fd = fd
    self.port = SocketCalls.port(of: fd)
  }

  deinit { close() }

  /// From now on, connections are refused.
  func close() {
    if fd >= 0 { Glibc.close(fd) }
    fd = -1
  }

  /// The next connection; `nil` if none comes in time.
  func next(seconds: Double = 20) -> LineSocket? {
    var request = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
    guard poll(&request, 1, Int32(seconds * 1_000)) > 0 else { return nil }
    let fd = SocketCalls.accept(fd)
    return fd < 0 ? nil : LineSocket(fd)
  }
}
