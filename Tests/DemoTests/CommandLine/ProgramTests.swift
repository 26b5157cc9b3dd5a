// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

@Suite("The program's command line", .timeLimit(.minutes(2)))
struct ProgramTests {
  private let help = HelpText(width: 80, style: .plain)

  private func report(_ words: String...) -> String? {
    do {
      _ = try Program.parse(words, help: help)
      return nil
    } catch {
      return error.error.report(for: error.command, style: .plain)
    }
  }

  @Test("no words mean the tour")
  func tour() throws {
    guard case .tour(let arguments) = try Program.parse([], help: help) else {
      Issue.record("no tour")
      return
    }
    #expect(arguments[CommonOptions.transport] == .direct)
  }

  @Test("options without a subcommand are the tour's")
  func tourOptions() throws {
    guard case .tour(let arguments) = try Program.parse(["--transport=bufferevent"], help: help) else {
      Issue.record("no tour")
      return
    }
    #expect(arguments[CommonOptions.transport] == .bufferevent)
  }

  @Test("the version is one line")
  func version() throws {
    guard case .show(let text) = try Program.parse(["--version"], help: help) else {
      Issue.record("no version")
      return
    }
    #expect(text == "demo 0.1.0 (SocketStreams)\n")
  }

  @Test("send's options arrive with their types")
  func send() throws {
    let words = [
      "send", "-e", "localhost", "9000", "--text", "Hi", "-0n50", "-t", "0.5", "--resolve", "a:1.2.3.4",
      "--color=never",
    ]
    guard case .send(let values) = try Program.parse(words, help: help) else {
      Issue.record("not send")
      return
    }
    #expect(values[CommonOptions.host] == "localhost")
    #expect(values[CommonOptions.port] == 9000)
    #expect(values[SendCommand.text] == "Hi")
    #expect(values[SendCommand.nul] && values[CommonOptions.events] && !values[SendCommand.receive])
    #expect(values[SendCommand.count] == 50)
    #expect(values[CommonOptions.timeout] == .milliseconds(500))
    #expect(values.all(CommonOptions.resolve) == [HostMapping(name: "a", addresses: ["1.2.3.4"])])
    #expect(values[CommonOptions.color] == .never)
  }

  @Test("cfread asks for bytes, end and error unless told otherwise")
  func mask() throws {
    guard case .cfread(let values) = try Program.parse(["cfread", "127.0.0.1:1"], help: help) else {
      Issue.record("not cfread")
      return
    }
    #expect(values[CFReadCommand.mask] == 2 | 8 | 16)
    #expect(values[CFReadCommand.setClient] == .before)
  }

  @Test("a wrong subcommand is reported in three lines, with the nearest name")
  func wrongSubcommand() {
    #expect(
      report("recieve") == """
        Error: Unexpected argument 'recieve'. Did you mean 'receive'?
        Usage: demo [--transport <kind>] [--color <when>] [--version] [--help] [<subcommand>]
          See 'demo --help' for more information.

        """)
  }

  @Test("a wrong option is reported for its subcommand")
  func wrongOption() {
    #expect(
      report("send", "localhost", "80", "--txet", "x") == """
        Error: Unknown option '--txet'. Did you mean '--text'?
        Usage: demo send [<options>] (<host> <port> | --unix <path>)
          See 'demo send --help' for more information.

        """)
  }

  @Test("a subcommand after options of the program, and help for no command, are refused")
  func misplaced() {
    #expect(report("--color=never", "send")?.hasPrefix("Error: Unexpected argument 'send'\n") == true)
    #expect(
      report("help", "sned")?.hasPrefix("Error: Unexpected argument 'sned'. Did you mean 'send'?\n") == true)
    #expect(report("help", "--man", "--nonsense")?.contains("See 'demo help --help'") == true)
  }

  @Test("only the words Error and Usage are coloured in a report")
  func coloredReport() {
    let text = UsageError("Bad").report(for: HelpCommand.spec, style: Style(isColored: true))
    #expect(text.hasPrefix("\u{1B}[1;31mError:\u{1B}[0m Bad\n\u{1B}[1mUsage:\u{1B}[0m demo help "))
  }
}

@Suite("The manual page and the completions", .timeLimit(.minutes(2)))
struct ManualPageTests {
  private let page = ManualPage(date: "January 1, 2026").render(Program.spec)

  @Test("the manual page is the one on file")
  func golden() throws { try Golden("demo.1").expect(page) }

  @Test("the sections come in the order that mdoc wants")
  func sections() {
    let names = page.split(separator: "\n").filter { $0.hasPrefix(".Sh ") }.map { $0.dropFirst(4) }
    #expect(
      names == [
        "NAME", "SYNOPSIS", "DESCRIPTION", "SUBCOMMANDS", "ENVIRONMENT", "EXIT STATUS", "EXAMPLES",
      ])
  }

  @Test("every option of every command is in the manual page and in both completions")
  func complete() {
    let bash = Completion.render(Program.spec, names: ["demo"], for: .bash)
    let fish = Completion.render(Program.spec, names: ["demo"], for: .fish)
    for command in Program.spec.subcommands {
      #expect(page.contains(".Ss \(command.name)\n"))
      for option in command.options {
        #expect(page.contains("Fl -\(option.name)"), "\(command.name)")
        #expect(bash.contains("--\(option.name)"), "\(command.name)")
        #expect(fish.contains("seen_subcommand_from \(command.name)' -l \(option.name)"), "\(command.name)")
      }
    }
  }

  @Test("lists are closed, and text is never taken for a request")
  func escapes() {
    let spec = CommandSpec(
      "prog", abstract: ".dot \\ and back.",
      subcommands: [CommandSpec("prog sub", abstract: "'quote first.", examples: [Example("prog sub", ".x")])]
    )
    let text = ManualPage(date: "January 1, 2026").render(spec)
    #expect(text.contains("\n.Nd \\&.dot \\e and back\n"))
    #expect(text.contains("\n\\&'quote first.\n"))
    #expect(text.contains("\n\\&.x\n"))
    #expect(text.split(separator: ".Bl").count == text.split(separator: ".El").count)
  }

  @Test("the command of an example is one line, whatever is in it")
  func exampleCommands() {
    let spec = CommandSpec("prog", abstract: "Text.", examples: [Example("tar c . | prog '\\n'", "A pipe.")])
    let text = ManualPage(date: "January 1, 2026").render(spec)
    #expect(text.contains("\n.Dl $ tar c . | prog '\\en'\n"))
  }

  @Test("the bash completion is the one on file")
  func bash() throws {
    try Golden("completion.bash").expect(
      Completion.render(Program.spec, names: ["demo", "Demo"], for: .bash))
  }
}
