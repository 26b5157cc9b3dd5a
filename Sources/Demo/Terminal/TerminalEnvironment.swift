// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the process's environment and its terminal say about output.

import Glibc

/// The variables that decide how output looks.
struct TerminalEnvironment: Hashable, Sendable {
  var noColor: String?
  var forceColor: String?
  var term: String?
  var columns: String?
  /// The first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set and not empty.
  var locale: String?

  /// The variables of this process.
  static var current: TerminalEnvironment {
    TerminalEnvironment(
      noColor: variable("NO_COLOR"), forceColor: variable("CLICOLOR_FORCE"), term: variable("TERM"),
      columns: variable("COLUMNS"),
      locale: ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { variable($0) }.first { !$0.isEmpty })
  }

  /// Whether the locale's characters are UTF-8.
  var isUTF8: Bool {
    guard let encoding = locale?.split(separator: ".").last?.prefix(while: { $0 != "@" }) else {
      return false
    }
    return ["utf-8", "utf8"].contains(encoding.lowercased())
  }

  /// The columns to wrap to: `COLUMNS`, else the terminal's, else 80.
  func width(terminalColumns: Int?) -> Int {
    columns.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil } ?? terminalColumns ?? 80
  }

  /// Whether what goes to a stream is coloured.
  func allowsColor(_ choice: ColorChoice, isTerminal: Bool) -> Bool {
    ColorConditions(choice: choice, noColor: noColor, force: forceColor, term: term, isTerminal: isTerminal)
      .allowColor
  }

  private static func variable(_ name: String) -> String? {
    // The environment is not changed by this program, so the pointer stays valid while it is copied.
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }
}
