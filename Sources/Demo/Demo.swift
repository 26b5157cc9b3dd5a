// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The entry point: reads the command line and runs what it asks for.

import Glibc

@main
struct Demo {
  static func main() {
    StandardStreams.fillGaps()
    StandardStreams.ignoreBrokenPipes()
    let code = run(Array(CommandLine.arguments.dropFirst()))
    exit(code.rawValue)
  }

  /// Runs one command line to its end.
  private static func run(_ words: [String]) -> ExitCode {
    let console = Console()
    let help = HelpText(width: console.width, style: console.outputStyle)
    do {
      let invocation = try Program.parse(words, help: help)
      return try perform(invocation, console)
    } catch let misuse as Program.Misuse {
      console.tell(misuse.error.report(for: misuse.command, style: console.errorStyle))
      return .usage
    } catch let error as Unusable {
      console.error(error.failure.line(for: error.target))
      return error.failure.exitCode
    } catch let failure as OutputFailure {
      return failure.exitCode
    } catch {
      console.error("\(error)")
      return .notConnected
    }
  }

  private static func perform(_ invocation: Invocation, _ console: Console) throws -> ExitCode {
    switch invocation {
    case .show(let text):
      try console.write(text)
      return .done
    case .send(let arguments):
      return try with(SendCommand.spec, arguments) { try SendCommand.run(arguments, console: $0) }
    case .receive(let arguments):
      return try with(ReceiveCommand.spec, arguments) { try ReceiveCommand.run(arguments, console: $0) }
    case .connect(let arguments):
      return try with(ConnectCommand.spec, arguments) { try ConnectCommand.run(arguments, console: $0) }
    case .cfread(let arguments):
      return try with(CFReadCommand.spec, arguments) { try CFReadCommand.run(arguments, console: $0) }
    case .echod(let arguments):
      return try with(EchodCommand.spec, arguments) { try EchodCommand.run(arguments, console: $0) }
    case .chat(let arguments):
      return try with(ChatCommand.spec, arguments) { try ChatCommand.run(arguments, console: $0) }
    case .chatd(let arguments):
      return try with(ChatdCommand.spec, arguments) { try ChatdCommand.run(arguments, console: $0) }
    case .http10(let arguments):
      return try with(HTTP10Command.spec, arguments) { try HTTP10Command.run(arguments, console: $0) }
    case .tour(let arguments):
      return try with(Program.spec, arguments) { try TourCommand.run(arguments, console: $0) }
    }
  }

  /// Runs a command with the console that its options ask for; what it finds wrong with them is reported for it.
  private static func with(
    _ command: CommandSpec, _ arguments: ParsedArguments, _ body: (sending Console) throws -> ExitCode
  ) throws -> ExitCode {
    do {
      let progress = command.options.contains { $0.name == CommonOptions.progress.spec.name }
      let console = Console(
        color: arguments[CommonOptions.color], progress: progress ? arguments[CommonOptions.progress] : .never
      )
      return try body(console)
    } catch let error as UsageError {
      throw Program.Misuse(error: error, command: command)
    }
  }
}
