// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The program as a whole: its spec, its version, and what a command line asks of it.

/// The version of the program.
enum Version {
  static let number = "0.1.0"
  static let date = "November 30, 2026"
  static let line = "demo \(number) (SocketStreams)"
}

/// What a command line asks for.
enum Invocation: Sendable {
  /// Text for standard output.
  case show(String)
  case tour(ParsedArguments)
  case send(ParsedArguments)
  case receive(ParsedArguments)
  case connect(ParsedArguments)
  case cfread(ParsedArguments)
  case echod(ParsedArguments)
  case chat(ParsedArguments)
  case chatd(ParsedArguments)
}

/// The program.
enum Program {
  static let version = Flag("version", help: "Show the version.")

  static let spec = CommandSpec(
    "demo",
    abstract: "Socket streams in the manner of CoreFoundation, from the command line.",
    discussion: [
      "Without a subcommand it gives a tour that needs nothing else: a server and a client in one process, each event with the thread that delivered it."
    ],
    options: [CommonOptions.transport.spec, CommonOptions.color.spec, version.spec],
    subcommands: [
      SendCommand.spec, ReceiveCommand.spec, ConnectCommand.spec, CFReadCommand.spec, EchodCommand.spec,
      ChatCommand.spec, ChatdCommand.spec, HelpCommand.spec,
    ],
    examples: [
      Example("demo", "The tour."), Example("demo --transport bufferevent", "The tour, over bufferevents."),
    ],
    exitCodes: [
      .done, .notConnected, .connectionBroke, .timeLimit, .usage, .interrupted, .outputGone,
    ])

  /// What went wrong with a command line, and which command it was meant for.
  struct Misuse: Error {
    let error: UsageError
    let command: CommandSpec
  }

  /// What `words` ask for; they do not include the program's name. Pure.
  static func parse(_ words: [String], help: HelpText) throws(Misuse) -> Invocation {
    guard let first = words.first, !first.hasPrefix("-") else {
      let arguments = try scan(words[...], for: spec)
      if arguments.asksForHelp { return .show(help.render(spec)) }
      return arguments[version] ? .show(Version.line + "\n") : .tour(arguments)
    }
    guard let command = spec.subcommands.first(where: { $0.name == first }) else {
      throw Misuse(error: .unexpectedArgument(first, known: spec.subcommands.map(\.name)), command: spec)
    }
    let arguments = try scan(words.dropFirst(), for: command)
    if arguments.asksForHelp { return .show(help.render(command)) }
    switch command.name {
    case SendCommand.spec.name: return .send(arguments)
    case ReceiveCommand.spec.name: return .receive(arguments)
    case ConnectCommand.spec.name: return .connect(arguments)
    case CFReadCommand.spec.name: return .cfread(arguments)
    case EchodCommand.spec.name: return .echod(arguments)
    case ChatCommand.spec.name: return .chat(arguments)
    case ChatdCommand.spec.name: return .chatd(arguments)
    default:
      do {
        return .show(try HelpCommand.output(arguments, program: spec, help: help))
      } catch {
        throw Misuse(error: error, command: HelpCommand.spec)
      }
    }
  }

  private static func scan(
    _ words: ArraySlice<String>, for command: CommandSpec
  ) throws(Misuse) -> ParsedArguments {
    do {
      return try ArgumentScanner.scan(words, for: command)
    } catch {
      throw Misuse(error: error, command: command)
    }
  }
}
