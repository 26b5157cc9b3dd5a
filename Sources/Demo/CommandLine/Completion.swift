// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Completion for shells, from the same data as the help. Pure.

/// A shell that completions are written for.
enum Shell: String, Choice { case bash, fish }

/// Writes completions.
enum Completion {
  /// What `shell` has to read to complete `program`, called by any of `names`.
  static func render(_ program: CommandSpec, names: [String], for shell: Shell) -> String {
    switch shell {
    case .bash: bash(program, names: names)
    case .fish: fish(program, names: names)
    }
  }

  // MARK: - bash

  private static func bash(_ program: CommandSpec, names: [String]) -> String {
    let commands = program.subcommands
    let cases = commands.map { "    \($0.name)) words='\(words(of: $0))' ;;" }
    let values = choices(in: [program] + commands).map { option, choices in
      "    \(option)) words='\(choices)' ;;"
    }
    return """
      _\(program.name)() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
        case ${COMP_WORDS[1]} in
      \(cases.joined(separator: "\n"))
          *) words='\((commands.map(\.name) + [words(of: program)]).joined(separator: " "))' ;;
        esac
        case $before in
      \(values.joined(separator: "\n"))
        esac
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
      }
      complete -o default -F _\(program.name) \(names.joined(separator: " "))

      """
  }

  private static func words(of command: CommandSpec) -> String {
    command.options.map(\.flag).joined(separator: " ")
  }

  /// The words that each option with a list of words takes, each option once.
  private static func choices(in commands: [CommandSpec]) -> [(option: String, choices: String)] {
    var seen: Set<String> = []
    return commands.flatMap(\.options).compactMap { option in
      guard let choices = option.value?.type.choices, !choices.isEmpty, seen.insert(option.name).inserted
      else { return nil }
      return (option.flag, choices.joined(separator: " "))
    }
  }

  // MARK: - fish

  private static func fish(_ program: CommandSpec, names: [String]) -> String {
    let commands = program.subcommands
    return names.flatMap { name in
      let top = "complete -c \(name) -n __fish_use_subcommand"
      return program.options.map { "\(top) \(fish($0))" }
        + commands.map { "\(top) -f -a \($0.name) -d '\(quoted($0.abstract))'" }
        + commands.flatMap { command in
          command.options.map {
            "complete -c \(name) -n '__fish_seen_subcommand_from \(command.name)' \(fish($0))"
          }
        }
    }.joined(separator: "\n") + "\n"
  }

  private static func fish(_ option: OptionSpec) -> String {
    var words = ["-l \(option.name)"]
    if let short = option.short { words.append("-s \(short)") }
    if let choices = option.value?.type.choices {
      words.append(choices.isEmpty ? "-r" : "-x -a '\(choices.joined(separator: " "))'")
    }
    return (words + ["-d '\(quoted(option.help))'"]).joined(separator: " ")
  }

  private static func quoted(_ text: String) -> String {
    text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "\\'")
  }
}
