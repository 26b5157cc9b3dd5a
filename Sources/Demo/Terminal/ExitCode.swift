// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How the program ends. Few codes, each with one meaning.

/// The number with which the program ends.
struct ExitCode: RawRepresentable, Hashable, Sendable {
  let rawValue: Int32

  static let done = ExitCode(rawValue: 0)
  static let notConnected = ExitCode(rawValue: 2)
  static let connectionBroke = ExitCode(rawValue: 3)
  static let badData = ExitCode(rawValue: 4)
  static let httpStatus = ExitCode(rawValue: 5)
  static let timeLimit = ExitCode(rawValue: 6)
  static let localFile = ExitCode(rawValue: 7)
  static let usage = ExitCode(rawValue: 64)
  static let interrupted = ExitCode.signal(2)
  static let outputGone = ExitCode.signal(13)

  /// What a shell shows for a program that a signal ended.
  static func signal(_ number: Int32) -> ExitCode { ExitCode(rawValue: 128 + number) }

  /// The number, as the help lists it.
  var label: String { String(rawValue) }

  /// What the code means, in one sentence.
  var meaning: String {
    switch self {
    case .done: "Done."
    case .notConnected:
      "The host was not resolved, the connection not made or not secured, or the address not listened on."
    case .connectionBroke: "The connection broke."
    case .badData: "The peer's data was bad or cut short."
    case .httpStatus: "The server answered with an HTTP status of 400 or more."
    case .timeLimit: "A wait took longer than --timeout."
    case .localFile: "A local file, or the standard output, cannot be read or written."
    case .usage: "The arguments are wrong."
    case .interrupted: "Ended by SIGINT; 128 and the number for any other signal."
    case .outputGone: "The reader of standard output has gone."
    default: "Ended by signal \(rawValue - 128)."
    }
  }
}
