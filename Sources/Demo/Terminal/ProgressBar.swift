// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// When a progress line is drawn, erased and drawn again. It returns what to write; writing is the Console's.

/// The one progress line of a terminal.
struct ProgressBar {
  /// Returns to the first column and erases to the end of the line.
  private static let erasing = "\r\u{1B}[K"
  private static let interval = Duration.milliseconds(100)
  /// A transfer that is over sooner shows nothing.
  private static let patience = Duration.milliseconds(300)

  private let isUnicode: Bool
  private var isDrawn = false
  private var lastDrawn: Duration?

  init(isUnicode: Bool) { self.isUnicode = isUnicode }

  /// The line, if it is time for it: after a short patience, and at most ten times a second.
  mutating func update(_ progress: Progress, width: Int) -> String? {
    guard progress.elapsed >= Self.patience else { return nil }
    if let lastDrawn, progress.elapsed - lastDrawn < Self.interval { return nil }
    lastDrawn = progress.elapsed
    isDrawn = true
    // The last column stays free: a terminal would go to the next line there.
    return Self.erasing + ProgressLine(width: width - 1, isUnicode: isUnicode).render(progress)
  }

  /// What removes the line, if it is there. To be written before any message and at the end.
  mutating func erase() -> String? {
    guard isDrawn else { return nil }
    isDrawn = false
    return Self.erasing
  }

  /// Whether the line is wanted: on a terminal that can erase, or always.
  static func isWanted(_ choice: ProgressChoice, isTerminal: Bool, term: String?) -> Bool {
    switch choice {
    case .always: true
    case .never: false
    case .auto: isTerminal && term != "dumb"
    }
  }
}
