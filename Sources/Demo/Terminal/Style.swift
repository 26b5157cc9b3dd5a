// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// When and how a stream is coloured. The decision is pure: what it depends on comes in as values.

/// What `--color` was set to.
enum ColorChoice: String, Choice { case always, never, auto }

/// What the environment says about the terminal, and what the stream is.
struct ColorConditions: Hashable, Sendable {
  var choice = ColorChoice.auto
  /// `NO_COLOR`: set and not empty means none.
  var noColor: String?
  /// `CLICOLOR_FORCE`: set and neither empty nor 0 means colour even without a terminal.
  var force: String?
  /// `TERM`: `dumb` means a terminal without colours.
  var term: String?
  /// Whether the stream is a terminal.
  var isTerminal = false

  /// Whether the stream gets colours: the option beats `NO_COLOR`, which beats `CLICOLOR_FORCE`, which beats the terminal.
  var allowColor: Bool {
    switch choice {
    case .always: return true
    case .never: return false
    case .auto: break
    }
    if let noColor, !noColor.isEmpty { return false }
    if let force, !force.isEmpty, force != "0" { return true }
    return isTerminal && term != "dumb"
  }
}

/// Adds colour to pieces of text, or leaves them alone. The meaning is never in the colour alone.
struct Style: Hashable, Sendable {
  let isColored: Bool

  /// No colours.
  static let plain = Style(isColored: false)

  /// The word that starts an error: bold and red.
  func error(_ text: String) -> String { wrap(text, "1;31") }

  /// A heading: bold.
  func heading(_ text: String) -> String { wrap(text, "1") }

  private func wrap(_ text: String, _ code: String) -> String {
    isColored ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
