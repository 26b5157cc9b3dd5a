// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A TCP or Unix-domain server that misbehaves in one chosen way. Plain blocking sockets and threads: nothing here is the
// library's, so that the two cannot be wrong together.

import Glibc

/// A server for one test, on a port of the system's choice.
final class LoopbackServer: Sendable {
  /// What it does with each connection.
  enum Mode: Sendable {
    /// Reads to the end.
    case sink
    case echo
    /// Sends this, then ends.
    case says([UInt8])
    /// Sends this a byte at a time, then ends.
    case split([UInt8])
    /// Closes at once.
    case early
    /// Sends `partial`, then resets.
    case rst
    /// Reads to the end, then sends this and ends.
    case answers([UInt8])
    /// Sends as much of this as the peer takes, reads nothing, and resets. The visit counts what the peer's system has.
    case floodsAndResets([UInt8])
    /// Sends nothing, reads nothing, until the test is over.
    case silent
    /// Says its piece, ends its side, and reads to the end.
    case half
    /// Never accepts: further connections hang.
    case blackhole
  }

  /// What one connection brought.
  struct Visit: Hashable, Sendable {
    var count = 0
    var first: [UInt8] = []
  }

  private struct State {
    var visits: [Visit] = []
    var open = 0
    var highest = 0
  }

  let port: UInt16
  let path: String?
  private let mode: Mode
  private let listener: Int32
  /// Readable once the test is over.
  private let stopped: (reader: Int32, writer: Int32)
  private let state = Monitor(State())

  static let hello = Mode.says(Array("Hello from server 你好\n".utf8))
  static let big = Mode.says([UInt8](repeating: UInt8(ascii: "x"), count: 10_000_000))

  /// Listens on 127.0.0.1, or on a Unix-domain socket at `path`.
  init(_ mode: Mode, path: String? = nil) {
    self.mode = mode
    self.path = path
    listener = SocketCalls.listen(path: path, backlog: mode.isBlackhole ? 0 : 128)
    port = path == nil ? SocketCalls.port(of: listener) : 0
    stopped = SocketCalls.pipe()
    if case .blackhole = mode {
      // With a backlog of 0 one waiting connection fills the queue, and further ones hang.
      let filler = SocketCalls.connect(port: port)
      let reader = stopped.reader
      startThread {
        _ = SocketCalls.wait(reader, until: -1)
        close(filler)
      }
    } else {
      let listener = listener
      startThread { [self] in acceptLoop(listener) }
    }
  }

  /// Ends every connection, and the server.
  func stop() {
    close(stopped.writer)
    if mode.isBlackhole { close(listener) }
    if let path { unlink(path) }
  }

  /// The visits that are over, once there are `count` of them.
  func visits(_ count: Int) -> [Visit] { state.wait { $0.visits.count >= count }.visits }

  /// How many connections are open, once there are at most `count`.
  func openConnections(atMost count: Int) -> Int { state.wait { $0.open <= count }.open }

  /// How many connections were open at one time.
  var highest: Int { state.access { $0.highest } }

  /// Waits until `count` connections are open or were.
  func waitForConnections(_ count: Int) { _ = state.wait { $0.open + $0.visits.count >= count } }

  // MARK: - Threads

  private func acceptLoop(_ listener: Int32) {
    while SocketCalls.wait(stopped.reader, until: listener) {
      let fd = SocketCalls.accept(listener)
      guard fd >= 0 else { continue }
      state.access {
        $0.open += 1
        $0.highest = max($0.highest, $0.open)
      }
      startThread { [self] in
        let visit = serve(fd)
        close(fd)
        state.access {
          $0.open -= 1
          $0.visits.append(visit)
        }
      }
    }
    close(listener)
  }

  private func serve(_ fd: Int32) -> Visit {
    switch mode {
    case .sink: return readAll(fd)
    case .echo: return readAll(fd, echoing: true)
    case .says(let bytes): _ = SocketCalls.sendAll(fd, bytes)
    case .split(let bytes):
      for byte in bytes {
        guard SocketCalls.sendAll(fd, [byte]) else { break }
        // A pause is what makes the cut: without it the kernel would put the bytes together again.
        usleep(5_000)
      }
    case .early, .blackhole: break
    case .rst:
      _ = SocketCalls.sendAll(fd, Array("partial".utf8))
      // The client has to see the bytes before the reset, which overtakes nothing but is told first.
      usleep(100_000)
      SocketCalls.resetOnClose(fd)
    case .answers(let bytes):
      let visit = readAll(fd)
      _ = SocketCalls.sendAll(fd, bytes)
      return visit
    case .floodsAndResets(let bytes):
      let delivered = SocketCalls.flood(fd, bytes)
      SocketCalls.resetOnClose(fd)
      return Visit(count: delivered)
    case .silent: _ = SocketCalls.wait(stopped.reader, until: -1)
    case .half:
      _ = SocketCalls.sendAll(fd, Array("bye\n".utf8))
      shutdown(fd, Int32(SHUT_WR))
      return readAll(fd)
    }
    return Visit()
  }

  private func readAll(_ fd: Int32, echoing: Bool = false) -> Visit {
    var visit = Visit()
    var piece = [UInt8](repeating: 0, count: 65_536)
    while SocketCalls.wait(stopped.reader, until: fd) {
      let count = recv(fd, &piece, piece.count, 0)
      guard count > 0 else { break }
      visit.count += count
      if visit.first.count < 64 { visit.first += piece[..<min(count, 64)] }
      if echoing, !SocketCalls.sendAll(fd, Array(piece[..<count])) { break }
    }
    return visit
  }
}

extension LoopbackServer.Mode {
  var isBlackhole: Bool { if case .blackhole = self { true } else { false } }
}
