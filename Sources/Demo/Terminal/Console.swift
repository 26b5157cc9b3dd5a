// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the commands print through: data to standard output, everything else to standard error, the progress line erased
// before either. The main thread's only.

/// The program's output.
final class Console {
  let outputStyle: Style
  let errorStyle: Style
  /// Whether a progress line is drawn at all.
  let showsProgress: Bool

  private let environment: TerminalEnvironment
  private let outputIsTerminal: Bool
  private var bar: ProgressBar

  init(
    color: ColorChoice = .auto, progress: ProgressChoice = .never, environment: TerminalEnvironment = .current
  ) {
    let errorIsTerminal = StandardStreams.isTerminal(StandardStreams.error)
    outputIsTerminal = StandardStreams.isTerminal(StandardStreams.output)
    outputStyle = Style(isColored: environment.allowsColor(color, isTerminal: outputIsTerminal))
    errorStyle = Style(isColored: environment.allowsColor(color, isTerminal: errorIsTerminal))
    showsProgress = ProgressBar.isWanted(progress, isTerminal: errorIsTerminal, term: environment.term)
    bar = ProgressBar(isUnicode: environment.isUTF8)
    self.environment = environment
  }

  /// The columns that help is wrapped to.
  var width: Int {
    environment.width(terminalColumns: StandardStreams.columns(of: StandardStreams.output))
  }

  /// Writes data, as it is.
  func write(_ bytes: [UInt8]) throws(OutputFailure) {
    if outputIsTerminal { eraseProgress() }
    try StandardStreams.write(bytes, to: StandardStreams.output)
  }

  /// Writes a text that is data.
  func write(_ text: String) throws(OutputFailure) { try write(Array(text.utf8)) }

  /// Tells something that is not data, as a line.
  func note(_ text: String) { tell(text + "\n") }

  /// Tells an error, as a line.
  func error(_ text: String) { tell("\(errorStyle.error("error:")) \(text)\n") }

  /// Tells something that is not data, as it is.
  func tell(_ text: String) {
    eraseProgress()
    // Nothing can be told about an error stream that fails.
    try? StandardStreams.write(text, to: StandardStreams.error)
  }

  /// Draws the progress line, if it is wanted and time for it.
  func show(_ progress: Progress) {
    guard showsProgress else { return }
    let columns = StandardStreams.columns(of: StandardStreams.error)
    if let text = bar.update(progress, width: environment.width(terminalColumns: columns)) {
      try? StandardStreams.write(text, to: StandardStreams.error)
    }
  }

  /// Removes the progress line.
  func eraseProgress() {
    if let text = bar.erase() { try? StandardStreams.write(text, to: StandardStreams.error) }
  }
}
