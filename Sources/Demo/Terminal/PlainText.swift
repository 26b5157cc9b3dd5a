// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Text from outside that is shown as a line: it may not steer the terminal. Pure.

enum PlainText {
  /// `line` with a replacement mark for each control character but the tab.
  static func shown(_ line: String) -> String {
    guard line.unicodeScalars.contains(where: isControl) else { return line }
    return String(String.UnicodeScalarView(line.unicodeScalars.map { isControl($0) ? "\u{FFFD}" : $0 }))
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control && scalar != "\t"
  }
}
