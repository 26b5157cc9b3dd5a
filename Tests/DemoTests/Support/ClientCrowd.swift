// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Many plain clients of one server at the same time, on the thread that calls.

import Glibc

/// How many descriptors this process may have open, and those that it starts.
struct DescriptorLimit {
  private var limit = rlimit()

  /// The limit as it is now.
  init() { precondition(getrlimit(Self.resource, &limit) == 0) }

  /// What the limit could be raised to.
  var highest: Int { Int(clamping: limit.rlim_max) }

  /// Sets the limit for the time being; this one is as it was.
  func set(_ count: Int) {
    var other = limit
    other.rlim_cur = rlim_t(count)
    precondition(setrlimit(Self.resource, &other) == 0, "setrlimit \(count): \(errno)")
  }

  func restore() { set(Int(limit.rlim_cur)) }

  private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}

/// Connections to one port of 127.0.0.1, all of them kept.
final class ClientCrowd {
  private(set) var sockets: [Int32] = []

  deinit { sockets.forEach { close($0) } }

  /// Connects until there are `count`; whether that succeeded.
  func connect(_ count: Int, port: UInt16) -> Bool {
    while sockets.count < count {
      let fd = SocketCalls.connect(port: port)
      guard fd >= 0 else { return false }
      sockets.append(fd)
    }
    return true
  }

  /// Sends `bytes(index)` from every client, and only then receives as much on each.
  /// - Returns: How many got back what they had sent.
  func exchange(seconds: Int = 60, _ bytes: (Int) -> [UInt8]) -> Int {
    for (index, fd) in sockets.enumerated() { _ = SocketCalls.sendAll(fd, bytes(index)) }
    var patience = timeval(tv_sec: seconds, tv_usec: 0)
    return sockets.indices.count { index in
      let sent = bytes(index)
      setsockopt(
        sockets[index], SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
      var room = [UInt8](repeating: 0, count: sent.count + 1)
      var count = 0
      while count < sent.count {
        let received = room.withUnsafeMutableBytes {
          recv(sockets[index], $0.baseAddress! + count, $0.count - count, 0)
        }
        guard received > 0 else { return false }
        count += received
      }
      return Array(room[..<count]) == sent
    }
  }

  /// Ends every client's direction; how many then saw the server's end.
  func end() -> Int {
    for fd in sockets { shutdown(fd, Int32(SHUT_WR)) }
    return sockets.count { SocketCalls.readAll($0).isEmpty }
  }
}
