// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

@Suite("Colours", .timeLimit(.minutes(2)))
struct StyleTests {
  private func allows(
    _ choice: ColorChoice, no: String? = nil, force: String? = nil, term: String? = "xterm", terminal: Bool
  ) -> Bool {
    ColorConditions(choice: choice, noColor: no, force: force, term: term, isTerminal: terminal).allowColor
  }

  @Test("the option beats everything", arguments: [nil, "", "1"] as [String?], [nil, "", "1"] as [String?])
  func option(no: String?, force: String?) {
    for terminal in [true, false] {
      for term in ["xterm", "dumb", nil] {
        #expect(allows(.always, no: no, force: force, term: term, terminal: terminal))
        #expect(!allows(.never, no: no, force: force, term: term, terminal: terminal))
      }
    }
  }

  @Test("NO_COLOR counts if it is set and not empty, and beats CLICOLOR_FORCE")
  func noColor() {
    #expect(!allows(.auto, no: "1", terminal: true))
    #expect(!allows(.auto, no: "0", terminal: true))
    #expect(!allows(.auto, no: "1", force: "1", terminal: true))
    #expect(allows(.auto, no: "", terminal: true))
    #expect(allows(.auto, no: "", force: "1", terminal: false))
  }

  @Test("CLICOLOR_FORCE counts if it is set and neither empty nor 0, and beats the terminal")
  func force() {
    #expect(allows(.auto, force: "1", terminal: false))
    #expect(allows(.auto, force: "1", term: "dumb", terminal: false))
    #expect(!allows(.auto, force: "", terminal: false))
    #expect(!allows(.auto, force: "0", terminal: false))
    #expect(allows(.auto, force: "0", terminal: true))
  }

  @Test("otherwise only a terminal that is not dumb gets colours")
  func terminal() {
    #expect(allows(.auto, terminal: true))
    #expect(allows(.auto, term: nil, terminal: true))
    #expect(!allows(.auto, term: "dumb", terminal: true))
    #expect(!allows(.auto, terminal: false))
  }

  @Test("without colours the text is untouched")
  func plain() {
    #expect(Style.plain.error("x") + Style.plain.heading("x") == "xx")
    #expect(Style(isColored: true).error("x") == "\u{1B}[1;31mx\u{1B}[0m")
  }

  @Test(
    "the encoding is read from the locale",
    arguments: [
      ("en_US.UTF-8", true), ("C.UTF-8", true), ("de_DE.utf8@euro", true), ("C", false),
      ("en_US.ISO-8859-1", false),
      ("", false), (nil, false),
    ])
  func locale(_ locale: String?, _ isUTF8: Bool) {
    #expect(TerminalEnvironment(locale: locale).isUTF8 == isUTF8)
  }

  @Test(
    "the width is COLUMNS, else the terminal's, else 80",
    arguments: [
      ("100", 120, 100), (nil, 120, 120), (nil, nil, 80), ("", 120, 120), ("0", nil, 80), ("-5", nil, 80),
      ("wide", 90, 90),
    ])
  func width(_ columns: String?, _ terminal: Int?, _ expected: Int) {
    #expect(TerminalEnvironment(columns: columns).width(terminalColumns: terminal) == expected)
  }

  @Test("every exit code that a command lists has one meaning of its own")
  func exitCodes() {
    let all = Set(([Program.spec] + Program.spec.subcommands).flatMap(\.exitCodes))
    #expect(Set(all.map(\.meaning)).count == all.count)
    #expect(Set(all.map(\.rawValue)).isSuperset(of: [0, 2, 3, 6, 7, 64, 130, 141]))
    #expect(ExitCode.signal(15).rawValue == 143)
  }
}
