// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

/// Whose streams `cfread` uses: the same job, with the same output.
enum Streams: String, CaseIterable, Sendable {
  case own
  case coreFoundation

  /// The words of the command line that ask for them.
  var words: [String] { self == .own ? [] : ["--corefoundation"] }
}
