// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A command as data: its options, operands, examples and exit codes. The scanner, the help, the manual page and the
// completions all read the same data, so they cannot disagree.

/// A command or subcommand of the program.
struct CommandSpec: Sendable {
  /// The words that call it: "demo send".
  let path: String
  /// What it does, in one sentence.
  let abstract: String
  /// More to know, a paragraph an element.
  let discussion: [String]
  /// What follows the options, in order.
  let operands: [OperandSpec]
  /// Its options, in the order of the help.
  let options: [OptionSpec]
  /// The commands below it.
  let subcommands: [CommandSpec]
  /// Uses of it.
  let examples: [Example]
  /// How it can end.
  let exitCodes: [ExitCode]

  init(
    _ path: String, abstract: String, discussion: [String] = [], operands: [OperandSpec] = [],
    options: [OptionSpec] = [], subcommands: [CommandSpec] = [], examples: [Example] = [],
    exitCodes: [ExitCode] = [.done, .usage]
  ) {
    self.path = path
    self.abstract = abstract
    self.discussion = discussion
    self.operands = operands
    self.options = options + [Self.help.spec]
    self.subcommands = subcommands
    self.examples = examples
    self.exitCodes = exitCodes
  }

  /// The last word of ``path``.
  var name: String { path.split(separator: " ").last.map(String.init) ?? path }

  /// The option that every command has.
  static let help = Flag("help", short: "h", help: "Show help information.")
}

/// A use of a command, and what it does.
struct Example: Sendable {
  let command: String
  let meaning: String

  init(_ command: String, _ meaning: String) {
    self.command = command
    self.meaning = meaning
  }
}

/// How a value is read, without its type.
struct AnyValueType: Sendable {
  let expectation: String
  let choices: [String]
  let parse: @Sendable (_ text: String) -> (any Sendable)?

  init<Value>(_ type: ValueType<Value>) {
    expectation = type.expectation
    choices = type.choices
    parse = { type.parse($0) }
  }
}

/// An option, without the type of its value.
struct OptionSpec: Sendable {
  /// The long name, without dashes.
  let name: String
  /// The letter of the short form.
  let short: Character?
  /// What it does, in a sentence or two.
  let help: String
  /// What the help calls the value, and how it is read; `nil` for a flag.
  let value: (placeholder: String, type: AnyValueType)?
  /// What holds when the option is not given, for the help.
  var defaultText: String?
  /// Whether each use adds a value. Otherwise the last use counts.
  var repeats = false

  /// The long form as it is typed: "--timeout".
  var flag: String { "--" + name }

  /// The long form with its value: "--timeout <seconds>".
  var synopsis: String { value.map { "\(flag) <\($0.placeholder)>" } ?? flag }
}

/// An option without a value.
struct Flag: Sendable {
  let spec: OptionSpec

  init(_ name: String, short: Character? = nil, help: String) {
    spec = OptionSpec(name: name, short: short, help: help, value: nil)
  }
}

/// An option with a value, `nil` unless it is given.
struct Option<Value: Sendable>: Sendable {
  let spec: OptionSpec

  init(
    _ name: String, short: Character? = nil, _ placeholder: String, _ type: ValueType<Value>,
    repeats: Bool = false,
    help: String
  ) {
    let value = (placeholder: placeholder, type: AnyValueType(type))
    spec = OptionSpec(name: name, short: short, help: help, value: value, repeats: repeats)
  }
}

/// An option whose value has a default.
struct Setting<Value: Sendable>: Sendable {
  let spec: OptionSpec
  /// What holds when the option is not given.
  let fallback: Value

  /// - Parameter defaultText: `fallback` as a user would type it.
  init(
    _ name: String, short: Character? = nil, _ placeholder: String, _ type: ValueType<Value>,
    default fallback: Value,
    _ defaultText: String, help: String
  ) {
    let value = (placeholder: placeholder, type: AnyValueType(type))
    spec = OptionSpec(name: name, short: short, help: help, value: value, defaultText: defaultText)
    self.fallback = fallback
  }

  init(
    _ name: String, short: Character? = nil, _ placeholder: String, default fallback: Value, help: String
  ) where Value: Choice {
    self.init(name, short: short, placeholder, .choice(), default: fallback, fallback.rawValue, help: help)
  }
}

/// When an operand has to be there.
enum OperandRule: Hashable, Sendable {
  case required
  case optional
  /// Required, unless the option of this name takes its place; then it must not be there.
  case replaced(byOption: String)
}

/// An operand, without the type of its value.
struct OperandSpec: Sendable {
  let name: String
  let help: String
  let rule: OperandRule
  let type: AnyValueType

  /// The operand as the help writes it: "<host>", or "[<port>]".
  var synopsis: String { rule == .optional ? "[<\(name)>]" : "<\(name)>" }

  /// Whether an option can take its place.
  var isReplaceable: Bool { if case .replaced = rule { true } else { false } }
}

/// An operand, `nil` unless it is given.
struct Operand<Value: Sendable>: Sendable {
  let spec: OperandSpec

  init(_ name: String, _ type: ValueType<Value>, _ rule: OperandRule = .required, help: String) {
    spec = OperandSpec(name: name, help: help, rule: rule, type: AnyValueType(type))
  }
}
