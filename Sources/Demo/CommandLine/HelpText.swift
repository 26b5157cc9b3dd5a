// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The help of a command, in the form of swift-argument-parser: indent 2, text from column 26, wrapped to the width.
// Pure: the width and the style come from the caller.

/// Writes the help of commands.
struct HelpText {
  private static let indent = 2
  private static let textColumn = 26

  let width: Int
  let style: Style

  /// - Parameter width: The columns of the terminal; fewer than 40 count as 40.
  init(width: Int, style: Style) {
    self.width = max(width, 40)
    self.style = style
  }

  /// The whole help of `command`, with a line end after its last line.
  func render(_ command: CommandSpec) -> String {
    var sections = [heading("OVERVIEW:", command.abstract)]
    sections += command.discussion.map { TextWrap.paragraph($0, width: width) }
    sections.append(heading("USAGE:", Self.usage(of: command)))
    sections.append(list("ARGUMENTS:", command.operands.map { ("<\($0.name)>", Self.description(of: $0)) }))
    sections.append(list("OPTIONS:", command.options.map { (Self.label(of: $0), Self.description(of: $0)) }))
    sections.append(list("SUBCOMMANDS:", command.subcommands.map { ($0.name, $0.abstract) }))
    sections.append(examples(command.examples))
    sections.append(list("EXIT STATUS:", command.exitCodes.map { ($0.label, $0.meaning) }))
    if !command.subcommands.isEmpty {
      let hint = "See '\(command.path) help <subcommand>' for detailed help."
      sections.append(TextWrap.paragraph(hint, width: width, indent: Self.indent))
    }
    return sections.filter { !$0.isEmpty }.joined(separator: "\n\n") + "\n"
  }

  /// How to call `command`, in one line. With many options only the operands are listed.
  static func usage(of command: CommandSpec) -> String {
    var words = [command.path]
    let parts = command.options.map { option in
      option.repeats ? "[\(option.synopsis) ...]" : "[\(option.synopsis)]"
    }
    words += parts.count + command.operands.count > 12 ? ["[<options>]"] : parts
    words += operands(of: command)
    if !command.subcommands.isEmpty { words.append("[<subcommand>]") }
    return words.joined(separator: " ")
  }

  /// The operands as the usage lists them; those that an option replaces stand beside it: "(<host> <port> | --unix <path>)".
  static func operands(of command: CommandSpec) -> [String] {
    let replaced = command.options.compactMap { option -> String? in
      let group = command.operands.filter { $0.rule == .replaced(byOption: option.name) }.map(\.synopsis)
      return group.isEmpty ? nil : "(\(group.joined(separator: " ")) | \(option.synopsis))"
    }
    return replaced + command.operands.filter { !$0.isReplaceable }.map(\.synopsis)
  }

  /// "-t, --timeout <seconds>".
  static func label(of option: OptionSpec) -> String {
    option.short.map { "-\($0), \(option.synopsis)" } ?? option.synopsis
  }

  /// The help of an option, with its choices and its default.
  static func description(of option: OptionSpec) -> String {
    var facts: [String] = []
    if let choices = option.value?.type.choices, !choices.isEmpty {
      facts.append("values: " + choices.joined(separator: ", "))
    }
    if let text = option.defaultText { facts.append("default: " + text) }
    return facts.isEmpty ? option.help : "\(option.help) (\(facts.joined(separator: "; ")))"
  }

  /// The help of an operand, with what may stand in its place.
  static func description(of operand: OperandSpec) -> String {
    if case .replaced(let option) = operand.rule {
      "\(operand.help) Not with --\(option)."
    } else {
      operand.help
    }
  }

  // MARK: - Parts

  private func heading(_ title: String, _ text: String) -> String {
    // The style adds bytes without a width, so the text is wrapped first.
    let wrapped = TextWrap.paragraph("\(title) \(text)", width: width, indent: Self.indent, first: 0)
    return style.heading(title) + wrapped.dropFirst(title.count)
  }

  private func list(_ title: String, _ rows: [(label: String, text: String)]) -> String {
    guard !rows.isEmpty else { return "" }
    return ([style.heading(title)] + rows.map(row)).joined(separator: "\n")
  }

  private func row(label: String, text: String) -> String {
    let start = String(repeating: " ", count: Self.indent) + label
    let body = TextWrap.paragraph(text, width: width, indent: Self.textColumn)
    guard start.count < Self.textColumn else { return start + "\n" + body }
    return start + body.dropFirst(start.count)
  }

  private func examples(_ examples: [Example]) -> String {
    guard !examples.isEmpty else { return "" }
    let rows = examples.map { example in
      TextWrap.paragraph(example.command, width: width, indent: Self.indent * 2, first: Self.indent) + "\n"
        + TextWrap.paragraph(example.meaning, width: width, indent: Self.indent * 3)
    }
    return ([style.heading("EXAMPLES:")] + rows).joined(separator: "\n")
  }
}

/// Breaks texts into lines.
enum TextWrap {
  /// `text` in lines of at most `width` columns, broken between words; a longer word gets a line of its own.
  ///
  /// - Parameters:
  ///   - indent: The spaces before each line.
  ///   - first: The spaces before the first line; `indent` if `nil`.
  static func paragraph(_ text: String, width: Int, indent: Int = 0, first: Int? = nil) -> String {
    var lines: [String] = []
    var line = String(repeating: " ", count: first ?? indent)
    var isEmpty = true
    for word in text.split(separator: " ") {
      if !isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = String(repeating: " ", count: indent)
        isEmpty = true
      }
      line += isEmpty ? word : " " + word
      isEmpty = false
    }
    return (lines + [line]).joined(separator: "\n")
  }
}
