// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What is wrong with a command line, and how it is told.

/// A command line that cannot be run.
struct UsageError: Error, Hashable, Sendable {
  /// What is wrong, in a sentence, without a full stop at its end.
  let message: String

  init(_ message: String) { self.message = message }

  static func unknownOption(_ text: String, known: [String]) -> UsageError {
    UsageError("Unknown option '\(text)'" + suggestion(for: text, among: known))
  }

  static func unexpectedArgument(_ text: String, known: [String] = []) -> UsageError {
    UsageError("Unexpected argument '\(text)'" + suggestion(for: text, among: known))
  }

  static func missingOperand(_ operand: OperandSpec) -> UsageError {
    UsageError("Missing expected argument '<\(operand.name)>'")
  }

  static func missingValue(_ option: OptionSpec) -> UsageError {
    UsageError("Missing value for '\(option.synopsis)'")
  }

  static func needlessValue(_ option: OptionSpec, _ text: String) -> UsageError {
    UsageError("The option '\(option.flag)' does not take any value, but '\(text)' was specified")
  }

  static func badValue(_ text: String, for synopsis: String, _ type: AnyValueType) -> UsageError {
    UsageError(
      "The value '\(text)' is invalid for '\(synopsis)': expected \(type.expectation)"
        + suggestion(for: text, among: type.choices))
  }

  private static func suggestion(for text: String, among known: [String]) -> String {
    nearestName(to: text, among: known).map { ". Did you mean '\($0)'?" } ?? ""
  }

  /// What standard error shows: the error, the usage, and where to read more.
  func report(for command: CommandSpec, style: Style) -> String {
    """
    \(style.error("Error:")) \(message)
    \(style.heading("Usage:")) \(HelpText.usage(of: command))
      See '\(command.path) --help' for more information.

    """
  }
}

/// The name that `text` was probably meant to be: the one with the fewest wrong letters, if they are few.
func nearestName(to text: String, among names: [String]) -> String? {
  let limit = max(1, text.count / 3)
  let ranked = names.map { (name: $0, distance: editDistance(text, $0)) }
  return ranked.filter { $0.distance <= limit }.min { $0.distance < $1.distance }?.name
}

/// How many letters must be put in, left out, exchanged, or swapped with their neighbour to turn `a` into `b`.
func editDistance(_ a: String, _ b: String) -> Int {
  let a = Array(a)
  let b = Array(b)
  var beforeLast = [Int](repeating: 0, count: b.count + 1)
  var last = Array(0...b.count)
  for i in 0..<a.count {
    var row = [i + 1]
    for j in 0..<b.count {
      var best = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, beforeLast[j - 1] + 1) }
      row.append(best)
    }
    beforeLast = last
    last = row
  }
  return last[b.count]
}
