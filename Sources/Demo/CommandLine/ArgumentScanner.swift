// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Turns the words of a command line into typed values, by a command's spec. Pure: no output, no exit.

/// The values of one command line.
struct ParsedArguments: Sendable {
  /// What each option got, in order; a flag gets `true` for each use.
  fileprivate var options: [String: [any Sendable]] = [:]
  fileprivate var operands: [String: any Sendable] = [:]
  /// Whether help was asked for. Then nothing else was checked.
  fileprivate(set) var asksForHelp = false

  subscript(flag: Flag) -> Bool { options[flag.spec.name] != nil }
  subscript<Value>(option: Option<Value>) -> Value? { options[option.spec.name]?.last as? Value }
  subscript<Value>(setting: Setting<Value>) -> Value {
    options[setting.spec.name]?.last as? Value ?? setting.fallback
  }
  subscript<Value>(operand: Operand<Value>) -> Value? { operands[operand.spec.name] as? Value }

  /// Whether the option is on the command line.
  func has(_ option: OptionSpec) -> Bool { options[option.name] != nil }

  /// Every value of an option that may be repeated.
  func all<Value>(_ option: Option<Value>) -> [Value] {
    options[option.spec.name, default: []].compactMap { $0 as? Value }
  }
}

/// Reads the words of a command line.
struct ArgumentScanner {
  private let command: CommandSpec
  private var rest: ArraySlice<String>
  private var operandTexts: [String] = []
  private var result = ParsedArguments()

  /// Reads `words`, which do not include the words that call the command.
  static func scan(_ words: some Collection<String>, for command: CommandSpec) throws(UsageError)
    -> ParsedArguments
  {
    var scanner = ArgumentScanner(command: command, rest: ArraySlice(words))
    return try scanner.run()
  }

  private init(command: CommandSpec, rest: ArraySlice<String>) {
    self.command = command
    self.rest = rest
  }

  private mutating func run() throws(UsageError) -> ParsedArguments {
    while let word = rest.popFirst() {
      if word == "--" {
        operandTexts += rest
        break
      } else if word.hasPrefix("--") {
        try scanLong(word)
      } else if word.hasPrefix("-"), word != "-" {
        try scanShort(word)
      } else {
        operandTexts.append(word)
      }
      if result.asksForHelp { return result }
    }
    try assignOperands()
    return result
  }

  // MARK: - Options

  /// `--name`, `--name value` or `--name=value`.
  private mutating func scanLong(_ word: String) throws(UsageError) {
    let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = command.options.first(where: { $0.name == name }) else {
      throw .unknownOption("--" + name, known: command.options.map(\.flag))
    }
    let attached = parts.count == 2 ? String(parts[1]) : nil
    guard option.value != nil else {
      if let attached { throw .needlessValue(option, attached) }
      return record(option, true)
    }
    try takeValue(of: option, attached: attached)
  }

  /// `-a`, `-abc` (three flags), `-n value` or `-nvalue`.
  private mutating func scanShort(_ word: String) throws(UsageError) {
    var letters = word.dropFirst()
    while let letter = letters.popFirst() {
      guard let option = command.options.first(where: { $0.short == letter }) else {
        throw .unknownOption(word, known: command.options.map(\.flag))
      }
      guard option.value != nil else {
        record(option, true)
        continue
      }
      return try takeValue(of: option, attached: letters.isEmpty ? nil : String(letters))
    }
  }

  private mutating func takeValue(of option: OptionSpec, attached: String?) throws(UsageError) {
    guard let type = option.value?.type else { return }
    guard let text = attached ?? nextValue() else { throw .missingValue(option) }
    guard let value = type.parse(text) else { throw .badValue(text, for: option.synopsis, type) }
    record(option, value)
  }

  /// The next word, unless it is an option of this command: then the value was forgotten.
  private mutating func nextValue() -> String? {
    guard let word = rest.first, !isOption(word) else { return nil }
    return rest.popFirst()
  }

  private func isOption(_ word: String) -> Bool {
    guard word.hasPrefix("-"), word != "-" else { return false }
    let name = word.prefix { $0 != "=" }
    return word == "--" || command.options.contains { $0.flag == name || $0.short.map { "-\($0)" } == word }
  }

  private mutating func record(_ option: OptionSpec, _ value: any Sendable) {
    result.options[option.name, default: []].append(value)
    if option.name == CommandSpec.help.spec.name { result.asksForHelp = true }
  }

  // MARK: - Operands

  private mutating func assignOperands() throws(UsageError) {
    var texts = operandTexts[...]
    for operand in command.operands where !isReplaced(operand) {
      guard let text = texts.popFirst() else {
        if operand.rule == .optional { continue }
        throw .missingOperand(operand)
      }
      guard let value = operand.type.parse(text) else {
        throw .badValue(text, for: "<\(operand.name)>", operand.type)
      }
      result.operands[operand.name] = value
    }
    if let extra = texts.first { throw .unexpectedArgument(extra) }
  }

  private func isReplaced(_ operand: OperandSpec) -> Bool {
    if case .replaced(let option) = operand.rule { result.options[option] != nil } else { false }
  }
}
