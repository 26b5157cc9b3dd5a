// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Why a command failed, as its one line on standard error, its exit code, and its part of the JSON summary. Pure.

import SocketStreams

/// What a connection was doing.
enum Phase: String, Sendable {
  case resolve, connect, read, write, listen
  /// Being secured: what was said in plain before, and the handshake.
  case startTLS = "STARTTLS"
  case handshake = "TLS handshake"
}

/// Why a command does nothing of what it was asked.
struct Unusable: Error {
  let failure: Failure
  /// Where it would have connected to or listened, for messages.
  let target: String
}

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
  /// Whether its line was printed when it happened; it is not printed at the end then.
  var isTold = false

  /// What a stream reported.
  ///
  /// - Parameter phase: What was going on. Before the connection is up a time-out is the time limit; later it is the
  ///   connection that broke.
  init(_ error: StreamError, during phase: Phase) {
    let isConnecting = phase == .connect
    domain = error.domain.description
    code = error.code
    reason = error.reason
    self.phase = isConnecting && error.domain == .resolver ? .resolve : error.phaseOfSecuring ?? phase
    attempts = error.attempts.map(\.description)
    note = error.detail.isEmpty ? nil : error.detail
    let isLate = error.domain == .posix && error.code == Errno.timedOut
    switch self.phase {
    case .resolve, .connect, .listen, .startTLS, .handshake: exitCode = isLate ? .timeLimit : .notConnected
    case .read, .write: exitCode = .connectionBroke
    }
  }

  /// What is wrong with the content of a file, or why it cannot be read.
  init(_ error: StreamError, inFile path: String) {
    domain = error.domain.description
    code = error.code
    reason = error.reason
    phase = .read
    exitCode = .localFile
    note = path + (error.detail.isEmpty ? "" : ": \(error.detail)")
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

  /// A reply that is none, or not whole.
  init(_ error: ReplyError) {
    (domain, code, reason) = ("reply", error.code, error.reason)
    (phase, exitCode) = (.read, .badData)
  }

  /// A reply with a status that says that the request failed.
  init(status head: ReplyHead) {
    (domain, code, reason) = ("HTTP", Int32(head.status), head.reason)
    (phase, exitCode) = (.read, .httpStatus)
  }

  /// Something to send, and no connection.
  static let notConnected = Failure(
    posix: Errno.notConnected, during: .write, exitCode: .connectionBroke,
    note: "/reconnect makes a new connection")

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

extension StreamError {
  /// Which step of being secured failed; `nil` for any other failure.
  var phaseOfSecuring: Phase? {
    if let phase = Phase(rawValue: operation), [.startTLS, .handshake].contains(phase) { return phase }
    // In TLS 1.3 a server looks at the client's certificate when the handshake is over for the client.
    switch tls {
    case .peerBadCertificate, .peerUnsupportedCertificate, .peerCertificateRevoked, .peerCertificateExpired,
      .peerCertificateUnknown, .peerUnknownIssuer, .peerAccessDenied, .peerHandshakeFailure,
      .certificateRequired:
      return .handshake
    default: return nil
    }
  }
}
