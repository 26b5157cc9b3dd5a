// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Many clients of a chat at once, in one thread: they only count the lines that they hear.

import Glibc
import Testing

/// Connections that read whenever there is something.
final class ChatCrowd {
  private var requests: [pollfd] = []
  /// How many lines each has heard.
  private var heard: [Int] = []

  /// Connects `count` clients to a port of 127.0.0.1.
  init(port: UInt16, count: Int) throws {
    for number in 0..<count {
      let fd = SocketCalls.connect(port: port)
      try #require(fd >= 0, "client \(number): \(errno)")
      requests.append(pollfd(fd: fd, events: Int16(POLLIN), revents: 0))
    }
    heard = Array(repeating: 0, count: count)
  }

  deinit { for request in requests { close(request.fd) } }

  /// Whether a sanitizer slows this process down, and the program with it, so that there may be fewer clients.
  static var isSlow: Bool { dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil }

  /// Reads until each has heard at least `lines` lines; whether that was so in time.
  func hear(_ lines: Int, seconds: Int = 60) -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    var piece = [UInt8](repeating: 0, count: 65_536)
    var missing = heard.count { $0 < lines }
    while missing > 0, ContinuousClock.now < deadline {
      guard poll(&requests, nfds_t(requests.count), 50) > 0 else { continue }
      for index in requests.indices where requests[index].revents != 0 {
        let count = recv(requests[index].fd, &piece, piece.count, 0)
        guard count > 0 else { return false }
        let isMissing = heard[index] < lines
        heard[index] += Self.lineEnds(in: piece, count)
        if isMissing, heard[index] >= lines { missing -= 1 }
      }
    }
    return missing == 0
  }
}

extension ChatCrowd {
  /// By the C library: what a test does with each byte would take longer than the server.
  private static func lineEnds(in piece: [UInt8], _ count: Int) -> Int {
    piece.withUnsafeBytes { bytes in
      var (ends, offset) = (0, 0)
      while offset < count, let end = memchr(bytes.baseAddress! + offset, 10, count - offset) {
        ends += 1
        offset = UnsafeRawPointer(end) - bytes.baseAddress! + 1
      }
      return ends
    }
  }
}

/// Lets this process, and those that it starts, open as many files as may be.
final class RaisedDescriptorLimit {
  private var before = rlimit()

  init() {
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
    var raised = before
    raised.rlim_cur = before.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised)
  }

  deinit { setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before) }

  /// How many may be open now.
  var count: Int {
    var now = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &now)
    return Int(min(now.rlim_cur, 1_000_000))
  }
}
