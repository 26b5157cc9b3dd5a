// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Two connected sockets, for tests below the streams.
import Glibc

/// Two connected, non-blocking Unix-domain sockets, closed with the object.
///
/// `@unchecked Sendable`: the descriptors are plain numbers, and only `closeSecond` changes one, before others use it.
final class SocketPair: @unchecked Sendable {
  let first: Int32
  private(set) var second: Int32

  init() {
    var fds: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    precondition(socketpair(AF_UNIX, type, 0, &fds) == 0)
    first = fds[0]
    second = fds[1]
  }

  deinit {
    close(first)
    closeSecond()
  }

  func closeSecond() {
    if second >= 0 { close(second) }
    second = -1
  }

  /// Says that the second sends no more.
  func endSecond() { shutdown(second, Int32(SHUT_WR)) }

  /// Writes from the second to the first.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Int { Glibc.send(second, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

  /// What the second has got, at most `limit` bytes; empty if nothing.
  func receive(_ limit: Int) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: limit)
    let count = recv(second, &buffer, limit, 0)
    return Array(buffer.prefix(max(0, count)))
  }
}
