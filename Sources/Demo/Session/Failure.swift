// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Why a command failed, as its one line on standard error, its exit code, and its part of the JSON summary. Pure.

import SocketStreams

/// What a connection was doing.
enum Phase: String, Sendable { case resolve, connect, read, write, listen }

/// Why a command did not do what it was asked.
struct Failure: Error, Hashable, Sendable {
  let domain: String
  let code: Int32
  let reason: String
  let phase: Phase
  let exitCode: ExitCode
  /// The addresses that were tried, and why each failed.
  var attempts: [String] = []
  /// More to know, at the end of the line.
  var note: String?

  /// What a stream reported.
  ///
  /// - Parameter phase: What was going on. Before the connection is up a time-out is the time limit; later it is the
  ///   connection that broke.
  init(_ error: StreamError, during phase: Phase) {
    let isConnecting = phase == .connect
    domain = error.domain.description
    code = error.code
    reason = error.reason
    self.phase = isConnecting && error.domain == .resolver ? .resolve : phase
    attempts = error.attempts.map(\.description)
    let isLate = error.domain == .posix && error.code == Errno.timedOut
    switch phase {
    case .resolve, .connect, .listen: exitCode = isLate ? .timeLimit : .notConnected
    case .read, .write: exitCode = .connectionBroke
    }
  }

  /// A wait that took longer than `--timeout`.
  static func timeLimit(during phase: Phase, note: String? = nil) -> Failure {
    Failure(posix: Errno.timedOut, during: phase, exitCode: .timeLimit, note: note)
  }

  /// A file that cannot be opened, read or written.
  static func file(_ code: Int32, _ path: String, during phase: Phase) -> Failure {
    Failure(posix: code, during: phase, exitCode: .localFile, note: path)
  }

  /// What a stream reported, said in words of the command's own, which decides how it ends.
  init(_ error: StreamError, _ reason: String, during phase: Phase, exitCode: ExitCode) {
    domain = error.domain.description
    code = error.code
    self.reason = reason
    self.phase = phase
    self.exitCode = exitCode
  }

  private init(posix code: Int32, during phase: Phase, exitCode: ExitCode, note: String?) {
    let error = StreamError.posix(code, phase.rawValue)
    domain = error.domain.description
    self.code = code
    reason = error.reason
    self.phase = phase
    self.exitCode = exitCode
    self.note = note
  }

  /// `POSIX 111 Connection refused (127.0.0.1:1, connect)`.
  func line(for target: String) -> String {
    "\(domain) \(code) \(reason) (\(target), \(phase.rawValue))" + (note.map { ": \($0)" } ?? "")
  }

  /// The member `error` of the summary.
  var json: JSONValue {
    .object([
      .init("domain", .string(domain)), .init("code", .integer(Int(code))), .init("reason", .string(reason)),
      .init("phase", .string(phase.rawValue)), .init("attempts", .array(attempts.map { .string($0) })),
    ])
  }
}
