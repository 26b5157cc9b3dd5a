// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A real server for a test: a program of the system's, started, waited for, killed and reaped.

import Foundation
import Testing

/// One run of a server program.
final class ServerProcess {
  struct NotReady: Error, CustomStringConvertible {
    let description: String
  }

  /// Where administrators' programs are too: an ordinary user's PATH leaves those folders out.
  private static let folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"]
  /// The system's Python, which has the system's modules; another one that is first on the PATH has not.
  static let python = "/usr/bin/python3"

  private var pid: pid_t
  /// Ends the server if this process dies.
  private var watcher: pid_t
  private let lifeline: Int32
  private let output: Int32
  /// What it has printed until now, on both standard streams.
  private(set) var printed = ""

  /// - Parameter program: A path, or a name that is looked for in the system's folders.
  init(_ program: String, _ arguments: [String]) throws {
    let path =
      program.hasPrefix("/") ? program : Self.folders.map { "\($0)/\(program)" }.first(where: Self.isThere)
    guard let path, Self.isThere(path) else {
      throw NotReady(description: "\(program) is not installed; Scripts/setup --tests does that")
    }
    var ends: [Int32] = [0, 0]
    var lifeline: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0 && pipe(&lifeline) == 0)
    for end in ends + lifeline { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    output = ends[0]
    self.lifeline = lifeline[1]
    defer {
      close(ends[1])
      close(lifeline[0])
    }
    pid = try Self.spawn([path] + arguments, input: nil, output: ends[1])
    watcher = -1
    // If this process dies, its end of the lifeline goes with it.
    watcher = try Self.spawn(
      ["/bin/sh", "-c", "read line; kill -9 \(pid)"], input: lifeline[0], output: ends[1])
  }

  private static func spawn(_ words: [String], input: Int32?, output: Int32) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
      posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_adddup2(&actions, output, 2)
    // Whatever else this process has open would stay open as long as the program runs.
    for fd in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap({ Int32($0) })
    where fd > 2 {
      posix_spawn_file_actions_addclose(&actions, fd)
    }
    // A test's thread may block signals, and a program would inherit that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var texts = words.map { strdup($0) } + [nil]
    defer { texts.forEach { free($0) } }
    var child = pid_t()
    let code = posix_spawn(&child, words[0], &actions, &attributes, &texts, environ)
    guard code == 0 else {
      throw NotReady(description: "\(words[0]) does not start: \(String(cString: strerror(code)))")
    }
    return child
  }

  /// Python's `http.server` on a port of the kernel's choice, for the files of a folder.
  static func http(folder: String) throws -> (server: ServerProcess, port: UInt16) {
    let arguments = ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", folder]
    let server = try ServerProcess(python, arguments)
    return (server, try server.number(after: "port "))
  }

  deinit {
    kill()
    close(output)
    close(lifeline)
  }

  private static func isThere(_ path: String) -> Bool { access(path, X_OK) == 0 }

  /// Ends it at once, whatever it is doing, and waits until it is gone. May be called again.
  func kill() {
    guard pid > 0 else { return }
    _ = Foundation.kill(pid, SIGKILL)
    // The watcher first: once the server is reaped, its number may be another's.
    if watcher > 0 {
      _ = Foundation.kill(watcher, SIGKILL)
      Self.reap(watcher)
    }
    Self.reap(pid)
    pid = -1
  }

  private static func reap(_ child: pid_t) {
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
  }

  /// The number that it prints after `text`, followed by something that is not a digit.
  func number(after text: String, seconds: Double = 10) throws -> UInt16 {
    var found: UInt16?
    try collect(seconds: seconds) { printed in
      guard let range = printed.range(of: text) else { return false }
      let digits = printed[range.upperBound...].prefix { $0.isASCII && $0.isNumber }
      guard digits.endIndex < printed.endIndex else { return false }
      found = UInt16(digits)
      return true
    }
    guard let found else { throw NotReady(description: "no number after '\(text)' in: \(printed)") }
    return found
  }

  /// Waits until a connection to its port is accepted.
  func acceptConnections(on port: UInt16, seconds: Double = 10) throws {
    try collect(seconds: seconds) { _ in TestPort.answers(port) }
  }

  /// Reads what it prints until `condition` holds.
  func collect(seconds: Double = 10, until condition: (String) -> Bool) throws {
    let deadline = Date() + seconds
    var piece = [UInt8](repeating: 0, count: 4_096)
    while !condition(printed) {
      guard Date() < deadline else { throw NotReady(description: "not ready in \(seconds) s: \(printed)") }
      var request = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard poll(&request, 1, 10) > 0 else { continue }
      let count = read(output, &piece, piece.count)
      if count == 0 { throw NotReady(description: "ended: \(printed)") }
      if count > 0 { printed += String(decoding: piece[..<count], as: UTF8.self) }
    }
  }
}

/// Ports of 127.0.0.1.
enum TestPort {
  /// A port that nobody has at the moment. It can be taken by others, so who wants it has to be ready to ask for another.
  static func free() throws -> UInt16 { try RefusedPort().port }

  /// Whether somebody listens.
  static func answers(_ port: UInt16) -> Bool {
    let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(fd) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    } == 0
  }
}
