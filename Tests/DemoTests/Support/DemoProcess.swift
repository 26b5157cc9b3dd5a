// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Runs the built program, and collects what it prints and how it ends.

import Glibc
import Testing

/// How a run of the program ended.
struct DemoResult: Sendable {
  var output: [UInt8] = []
  var errors: [UInt8] = []
  /// The exit code, or `nil` if a signal ended the program.
  var code: Int32?
  var signal: Int32?
  var elapsed = Duration.zero

  var text: String { String(decoding: output, as: UTF8.self) }
  var errorText: String { String(decoding: errors, as: UTF8.self) }
  var errorLines: [String] { errorText.split(separator: "\n").map(String.init) }
  /// What a shell would show.
  var status: Int32 { code ?? (128 + (signal ?? 0)) }
}

/// One run of the program.
final class DemoProcess {
  /// Where the program is: next to the test bundle.
  static let path: String = {
    var buffer = [CChar](repeating: 0, count: 4_096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let own = String(decoding: buffer[..<max(count, 0)].map(UInt8.init), as: UTF8.self)
    return own.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
      + "/Demo"
  }()

  let pid: pid_t
  private var output: Int32
  private var errors: Int32
  private(set) var input: Int32
  private var result = DemoResult()
  /// Whether its end was waited for: then its number may be another's.
  private var isCollected = false
  private let started = ContinuousClock.now

  /// - Parameters:
  ///   - environment: Added to the test's own, from which everything that decides about colours is taken away.
  ///   - keepsInput: Whether standard input stays open, for ``write(_:)``.
  ///   - inputPath: A file to be standard input instead.
  ///   - inputBlocks: Whether a read of standard input waits until there is something.
  ///   - without: A standard descriptor that the program is started without.
  ///   - hasReader: Whether anybody reads standard output; if not, the reader has gone before the program starts.
  init(
    _ arguments: [String], environment: [String: String] = [:], keepsInput: Bool = false,
    inputPath: String? = nil, inputBlocks: Bool = true, without closed: Int32 = -1, hasReader: Bool = true
  ) {
    let (inputReader, inputWriter) = SocketCalls.pipe()
    let (outputReader, outputWriter) = SocketCalls.pipe()
    let (errorReader, errorWriter) = SocketCalls.pipe()
    if !hasReader { close(outputReader) }
    if !inputBlocks { _ = fcntl(inputReader, F_SETFL, O_NONBLOCK) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    for (fd, target) in [(inputReader, 0), (outputWriter, 1), (errorWriter, 2)] {
      posix_spawn_file_actions_adddup2(&actions, fd, Int32(target))
    }
    if let inputPath { posix_spawn_file_actions_addopen(&actions, 0, inputPath, O_RDONLY, 0) }
    if closed >= 0 { posix_spawn_file_actions_addclose(&actions, closed) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    var signals = sigset_t()
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

    var child = pid_t()
    var words = ([Self.path] + arguments).map { strdup($0) } + [nil]
    var variables = Self.environment(adding: environment).map { strdup($0) } + [nil]
    let code = SocketCalls.withoutSpawning {
      posix_spawn(&child, Self.path, &actions, &attributes, &words, &variables)
    }
    precondition(code == 0, "posix_spawn \(Self.path): \(code)")
    (words + variables).forEach { free($0) }
    posix_spawn_file_actions_destroy(&actions)
    posix_spawnattr_destroy(&attributes)
    [inputReader, outputWriter, errorWriter].forEach { close($0) }
    pid = child
    output = hasReader ? outputReader : -1
    errors = errorReader
    input = inputWriter
    if !keepsInput { closeInput() }
  }

  deinit {
    closeInput()
    if output >= 0 { close(output) }
    if errors >= 0 { close(errors) }
    // A test that has failed may leave a server behind, which would never end.
    if !isCollected {
      kill(pid, SIGKILL)
      waitpid(pid, nil, 0)
    }
  }

  func send(signal: Int32) { kill(pid, signal) }

  /// Whether the program has not ended yet.
  var isRunning: Bool {
    var info = siginfo_t()
    // Leaves the end for ``wait(seconds:)`` to collect; `si_signo` stays 0 while there is none.
    return waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_signo == 0
  }

  /// The memory that the program has for itself, in bytes.
  var privateBytes: Int {
    guard let file = fopen("/proc/\(pid)/status", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      if text.hasPrefix("RssAnon:") {
        return (text.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) * 1_024
      }
    }
    return 0
  }

  /// Writes to the program's standard input.
  func write(_ text: String) { write(Array(text.utf8)) }

  /// Writes to the program's standard input, waiting until the program has read enough of it.
  func write(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(input, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Writes to the program's standard input what it may never read, on a thread of its own.
  func writeInBackground(_ bytes: [UInt8]) {
    let fd = SocketCalls.withoutSpawning { fcntl(input, F_DUPFD_CLOEXEC, 0) }
    startThread {
      // The program may be gone before it has read everything.
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      var rest = bytes[...]
      while !rest.isEmpty,
        case let count = rest.withUnsafeBytes({ Glibc.write(fd, $0.baseAddress, $0.count) }),
        count > 0
      {
        rest = rest.dropFirst(count)
      }
      close(fd)
    }
  }

  func closeInput() {
    if input >= 0 { close(input) }
    input = -1
  }

  /// Closes the reading end of standard output, as `head` does.
  func closeOutput() {
    close(output)
    output = -1
  }

  /// Collects output until `condition` holds; `false` if the program ends or the time is over first.
  @discardableResult
  func collect(seconds: Int = 20, until condition: (DemoResult) -> Bool) -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while !condition(result) {
      guard ContinuousClock.now < deadline, readMore() else { return condition(result) }
    }
    return true
  }

  /// What came on standard output until now.
  var outputSoFar: String { result.text }

  /// What came on standard error until now.
  var errorsSoFar: String { result.errorText }

  /// Collects standard error only, until nothing came for a while after `text` had come: standard output is left to
  /// fill up.
  func collectErrors(untilQuietFor pause: Duration, after text: String) -> String {
    let milliseconds = Int32(pause / .milliseconds(1))
    let deadline = ContinuousClock.now + .seconds(20)
    var request = pollfd(fd: errors, events: Int16(POLLIN), revents: 0)
    while errors >= 0,
      poll(&request, 1, milliseconds) > 0
        || (!result.errorText.contains(text) && ContinuousClock.now < deadline)
    {
      if request.revents != 0 { Self.read(&errors, into: &result.errors) }
    }
    return result.errorText
  }

  /// Waits for the end, and kills the program if that takes too long: then the signal is 9.
  func wait(seconds: Int = 30) -> DemoResult {
    collect(seconds: seconds) { _ in false }
    var status: Int32 = 0
    let deadline = ContinuousClock.now + .seconds(seconds)
    while waitpid(pid, &status, WNOHANG) == 0 {
      if ContinuousClock.now > deadline { kill(pid, SIGKILL) }
      usleep(1_000)
    }
    isCollected = true
    result.elapsed = ContinuousClock.now - started
    if status & 0x7F == 0 { result.code = status >> 8 & 0xFF } else { result.signal = status & 0x7F }
    return result
  }

  /// Runs the program to its end.
  static func run(_ arguments: String..., environment: [String: String] = [:]) -> DemoResult {
    DemoProcess(arguments, environment: environment).wait()
  }

  // MARK: - Details

  /// Reads what is there, waiting at most 50 ms; `false` once both streams have ended.
  private func readMore() -> Bool {
    var requests = [
      pollfd(fd: output, events: Int16(POLLIN), revents: 0),
      pollfd(fd: errors, events: Int16(POLLIN), revents: 0),
    ]
    guard output >= 0 || errors >= 0 else { return false }
    poll(&requests, 2, 50)
    if requests[0].revents != 0 { Self.read(&output, into: &result.output) }
    if requests[1].revents != 0 { Self.read(&errors, into: &result.errors) }
    return true
  }

  private static func read(_ fd: inout Int32, into bytes: inout [UInt8]) {
    var piece = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(fd, &piece, piece.count)
    if count > 0 {
      bytes += piece[..<count]
    } else {
      close(fd)
      fd = -1
    }
  }

  private static func environment(adding added: [String: String]) -> [String] {
    let hidden = ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM", "LC_ALL", "LC_CTYPE", "LANG"] + added.keys
    var variables: [String] = []
    var entry = environ
    while let text = entry.pointee {
      let variable = String(cString: text)
      if !hidden.contains(String(variable.prefix { $0 != "=" })) { variables.append(variable) }
      entry += 1
    }
    return variables + added.map { "\($0.key)=\($0.value)" }
  }
}
