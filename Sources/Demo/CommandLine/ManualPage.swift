// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The manual page, in mdoc, from the same data as the help. There is no other copy. Pure.

/// Writes the manual page of a program.
struct ManualPage {
  /// The day of the version, as mdoc wants it: "January 1, 2026".
  let date: String

  /// The page of `program` and of all its subcommands.
  func render(_ program: CommandSpec) -> String {
    var lines = [".Dd \(date)", ".Dt \(program.name.uppercased()) 1", ".Os"]
    lines += [".Sh NAME", ".Nm \(program.name)", ".Nd \(Self.withoutStop(Self.text(program.abstract)))"]
    lines += [".Sh SYNOPSIS"] + synopsis(program)
    lines += program.subcommands.flatMap { synopsis($0) }
    lines += [".Sh DESCRIPTION"] + paragraphs(program.discussion) + options(program.options)
    lines += [".Sh SUBCOMMANDS"] + program.subcommands.flatMap { section($0) }
    lines += [".Sh ENVIRONMENT", ".Bl -tag -width Ds"]
    lines += Self.variables.flatMap { [".It Ev \($0.name)", Self.text($0.meaning)] } + [".El"]
    lines += [".Sh EXIT STATUS", ".Bl -tag -width Ds"]
    lines += exitCodes(program).flatMap { [".It \($0.label)", Self.text($0.meaning)] } + [".El"]
    lines +=
      [".Sh EXAMPLES"]
      + ([program] + program.subcommands).flatMap { $0.examples }.flatMap { example in
        [Self.text(example.meaning), ".Pp", ".Dl $ \(Self.escaped(example.command))", ".Pp"]
      }.dropLast()
    return lines.joined(separator: "\n") + "\n"
  }

  // MARK: - Parts

  private func synopsis(_ command: CommandSpec) -> [String] {
    let words = command.path.split(separator: " ").dropFirst()
    let name = [".Nm"] + words.map { ".Cm \($0)" } + [".Op Ar options"]
    return name + command.operands.map { $0.rule == .optional ? ".Op Ar \($0.name)" : ".Ar \($0.name)" }
  }

  private func section(_ command: CommandSpec) -> [String] {
    var lines =
      [".Ss \(command.name)", Self.text(command.abstract)]
      + command.discussion.flatMap { [".Pp", Self.text($0)] }
    if !command.operands.isEmpty {
      lines += [".Bl -tag -width Ds"]
      lines += command.operands.flatMap { [".It Ar \($0.name)", Self.text(HelpText.description(of: $0))] }
      lines += [".El"]
    }
    return lines + options(command.options)
  }

  private func options(_ options: [OptionSpec]) -> [String] {
    [".Bl -tag -width Ds"] + options.flatMap { [Self.item($0), Self.text(HelpText.description(of: $0))] } + [
      ".El"
    ]
  }

  private func paragraphs(_ texts: [String]) -> [String] {
    texts.flatMap { [Self.text($0), ".Pp"] }.dropLast()
  }

  /// The codes of all commands, each once, in order.
  private func exitCodes(_ program: CommandSpec) -> [ExitCode] {
    let all = Set(([program] + program.subcommands).flatMap(\.exitCodes))
    return all.sorted { $0.rawValue < $1.rawValue }
  }

  /// ".It Fl t , Fl -timeout Ar seconds".
  private static func item(_ option: OptionSpec) -> String {
    let forms = (option.short.map { ["Fl \($0)"] } ?? []) + ["Fl -\(option.name)"]
    return ".It " + forms.joined(separator: " , ") + (option.value.map { " Ar \($0.placeholder)" } ?? "")
  }

  // MARK: - Text

  private static func withoutStop(_ text: String) -> String {
    text.hasSuffix(".") ? String(text.dropLast()) : text
  }

  /// `text` with each sentence on a line of its own, backslashes escaped, and no control character at a line's start.
  private static func text(_ text: String) -> String {
    escaped(text).replacing(". ", with: ".\n").split(separator: "\n").map { line in
      line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : String(line)
    }.joined(separator: "\n")
  }

  private static func escaped(_ text: String) -> String { text.replacing("\\", with: "\\e") }

  private static let variables: [(name: String, meaning: String)] = [
    ("CLICOLOR_FORCE", "If set, and neither empty nor 0: colours even without a terminal."),
    ("COLUMNS", "The width to which help is wrapped."),
    ("LC_ALL , LC_CTYPE , LANG", "The progress bar uses block characters if the encoding is UTF-8."),
    ("NO_COLOR", "If set and not empty: no colours. Stronger than CLICOLOR_FORCE, weaker than --color."),
    ("TERM", "If dumb: no colours and no progress line."),
  ]
}
