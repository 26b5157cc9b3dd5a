// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

@Suite("Help", .timeLimit(.minutes(2)))
struct HelpTests {
  private static let commands = [Program.spec] + Program.spec.subcommands
  private let help = HelpText(width: 80, style: .plain)

  private func shown(_ words: String..., help: HelpText? = nil) throws -> String {
    guard case .show(let text) = try Program.parse(words, help: help ?? self.help) else {
      Issue.record("\(words) shows nothing")
      return ""
    }
    return text
  }

  @Test("the help of a command is the one on file", arguments: commands.map(\.name))
  func golden(_ name: String) throws {
    let words = name == Program.spec.name ? ["--help"] : [name, "--help"]
    guard case .show(let text) = try Program.parse(words, help: help) else {
      Issue.record("\(words) shows nothing")
      return
    }
    try Golden("help-\(name).txt").expect(text)
  }

  @Test("help SUB, SUB -h and SUB --help are equal", arguments: Program.spec.subcommands.map(\.name))
  func equal(_ name: String) throws {
    let text = try shown(name, "--help")
    #expect(try shown(name, "-h") == text)
    #expect(try shown("help", name) == text)
  }

  @Test("help, -h and --help without a subcommand are equal")
  func equalForProgram() throws {
    let text = try shown("--help")
    #expect(try shown("-h") == text)
    #expect(try shown("help") == text)
  }

  @Test("no line is wider than the terminal, at any width from 40 to 200")
  func width() {
    for width in 40...200 {
      for command in Self.commands {
        let text = HelpText(width: width, style: .plain).render(command)
        for line in text.split(separator: "\n") where line.count > width {
          // A word cannot be broken: only such a line may be longer.
          #expect(!line.drop { $0 == " " }.contains(" "), "\(width): \(line)")
        }
      }
    }
  }

  @Test("the text of each option starts at column 26")
  func column() {
    for command in Self.commands {
      let lines = help.render(command).split(separator: "\n")
      let options = lines.drop { $0 != "OPTIONS:" }.dropFirst().prefix { $0.hasPrefix("  ") }
      #expect(!options.isEmpty)
      for line in options where line.count > 26 && !line.dropFirst(2).hasPrefix("--resolve") {
        let start = line.index(line.startIndex, offsetBy: 26)
        #expect(line[start] != " " && line[line.index(before: start)] == " ", "\(line)")
      }
    }
  }

  @Test("colours change nothing but the colours")
  func colors() {
    for command in Self.commands {
      let colored = HelpText(width: 80, style: Style(isColored: true)).render(command)
      #expect(colored.contains("\u{1B}[1mOPTIONS:\u{1B}[0m"))
      let stripped = colored.replacing("\u{1B}[1m", with: "").replacing("\u{1B}[0m", with: "")
      #expect(stripped == help.render(command))
    }
  }

  @Test("options, operands and exit codes are unique, and every abstract is a sentence")
  func specs() {
    for command in Self.commands {
      let names = command.options.map(\.name)
      let letters = command.options.compactMap(\.short)
      #expect(Set(names).count == names.count, "\(command.name)")
      #expect(Set(letters).count == letters.count, "\(command.name)")
      #expect(Set(command.exitCodes).count == command.exitCodes.count, "\(command.name)")
      #expect(command.abstract.hasSuffix("."), "\(command.name)")
      #expect(
        command.options.allSatisfy { $0.help.hasSuffix(".") || $0.help.hasSuffix(")") }, "\(command.name)")
    }
  }

  @Test("every example of every command can be scanned")
  func examples() throws {
    for command in Self.commands where command.name != "help" {
      for example in command.examples {
        // The shell's part around the call is left away, and so are its quotes.
        let call = example.command.split(separator: "| ").last ?? ""
        let words = call.replacing("'Hello Server!'", with: "Hello_Server!").split(separator: " ").map(
          String.init)
        #expect(words.first == "demo")
        _ = try Program.parse(Array(words.dropFirst()), help: help)
      }
    }
  }
}

@Suite("Wrapping", .timeLimit(.minutes(2)))
struct TextWrapTests {
  @Test(
    "text breaks between words",
    arguments: [
      ("", 10, 0, ""),
      ("one", 10, 0, "one"),
      ("one two three", 7, 0, "one two\nthree"),
      ("one two three", 7, 2, "  one\n  two\n  three"),
      ("incomprehensibilities and so on", 10, 0, "incomprehensibilities\nand so on"),
      ("a  b", 10, 0, "a b"),
    ])
  func paragraphs(_ text: String, _ width: Int, _ indent: Int, _ expected: String) {
    #expect(TextWrap.paragraph(text, width: width, indent: indent) == expected)
  }

  @Test("the first line may have an indent of its own")
  func firstLine() {
    #expect(TextWrap.paragraph("one two three", width: 8, indent: 3, first: 0) == "one two\n   three")
  }
}
