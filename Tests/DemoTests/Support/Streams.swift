// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

/// Whose streams a command uses: the same job, with the same output.
enum Streams: String, CaseIterable, Sendable {
  case own
  case coreFoundation
  case foundation

  /// What `cfread` can use.
  static let forReading: [Streams] = [.own, .coreFoundation]
  /// What `send` and `receive` can use.
  static let forTransfers: [Streams] = [.own, .foundation]

  /// The words of the command line that ask for them.
  var words: [String] {
    switch self {
    case .own: []
    case .coreFoundation: ["--corefoundation"]
    case .foundation: ["--foundation"]
    }
  }
}
