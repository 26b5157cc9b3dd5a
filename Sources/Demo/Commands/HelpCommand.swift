// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `demo help`: the help of any command, the manual page, and the completions.

/// The subcommand `help`.
enum HelpCommand {
  static let subcommand = Operand("subcommand", .text, .optional, help: "The command to explain.")
  static let man = Flag("man", help: "Write the manual page, in mdoc.")
  static let completion = Option(
    "completion", "shell", .choice(Shell.self), help: "Write completions for a shell.")

  static let spec = CommandSpec(
    "demo help",
    abstract: "Show the help of a subcommand, the manual page, or completions for a shell.",
    operands: [subcommand.spec], options: [man.spec, completion.spec],
    examples: [
      Example("demo help --man | man -l -", "Reads the manual page."),
      Example("source <(demo help --completion bash)", "Completes subcommands and options."),
    ])

  /// What the command prints. Pure.
  static func output(_ arguments: ParsedArguments, program: CommandSpec, help: HelpText) throws(UsageError)
    -> String
  {
    if arguments[man] { return ManualPage(date: Version.date).render(program) }
    if let shell = arguments[completion] {
      return Completion.render(program, names: [program.name, "Demo"], for: shell)
    }
    guard let name = arguments[subcommand] else { return help.render(program) }
    guard let command = program.subcommands.first(where: { $0.name == name }) else {
      throw .unexpectedArgument(name, known: program.subcommands.map(\.name))
    }
    return help.render(command)
  }
}
