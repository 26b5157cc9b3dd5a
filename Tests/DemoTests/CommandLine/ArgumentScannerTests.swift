// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

/// A command with one option of each sort.
private enum Sample {
  enum Size: String, Choice { case small, large }

  static let quiet = Flag("quiet", short: "q", help: "")
  static let all = Flag("all", short: "a", help: "")
  static let number = Setting("number", short: "n", "number", .integer(0...50), default: 7, "7", help: "")
  static let text = Option("text", short: "t", "text", .text, help: "")
  static let tag = Option("tag", "tag", .text, repeats: true, help: "")
  static let size = Setting("size", "size", default: Size.small, help: "")
  static let unix = Option("unix", "path", .socketPath, help: "")
  static let first = Operand("first", .text, .replaced(byOption: "unix"), help: "")
  static let port = Operand("port", .port, .optional, help: "")

  static let spec = CommandSpec(
    "sample", abstract: "",
    operands: [first.spec, port.spec],
    options: [quiet.spec, all.spec, number.spec, text.spec, tag.spec, size.spec, unix.spec])
}

@Suite("The argument scanner", .timeLimit(.minutes(2)))
struct ArgumentScannerTests {
  /// The values of a line, as one text that a table can hold.
  private func summary(_ words: [String]) throws -> String {
    let values = try ArgumentScanner.scan(words, for: Sample.spec)
    var parts: [String] = []
    if values.asksForHelp { return "help" }
    if values[Sample.quiet] { parts.append("quiet") }
    if values[Sample.all] { parts.append("all") }
    parts.append("number=\(values[Sample.number])")
    if let text = values[Sample.text] { parts.append("text=\(text)") }
    parts += values.all(Sample.tag).map { "tag=\($0)" }
    if values[Sample.size] != .small { parts.append("size=\(values[Sample.size])") }
    if let path = values[Sample.unix] { parts.append("unix=\(path)") }
    if let first = values[Sample.first] { parts.append("first=\(first)") }
    if let port = values[Sample.port] { parts.append("port=\(port)") }
    return parts.joined(separator: " ")
  }

  @Test(
    "every way to write an option gives the same value",
    arguments: [
      (["x"], "number=7 first=x"),
      (["--number", "5", "x"], "number=5 first=x"),
      (["--number=5", "x"], "number=5 first=x"),
      (["-n", "5", "x"], "number=5 first=x"),
      (["-n5", "x"], "number=5 first=x"),
      (["x", "-n", "5"], "number=5 first=x"),
      (["-qa", "x"], "quiet all number=7 first=x"),
      (["-qan5", "x"], "quiet all number=5 first=x"),
      (["-qan", "5", "x"], "quiet all number=5 first=x"),
      (["-q", "-q", "x"], "quiet number=7 first=x"),
      (["--text=", "x"], "number=7 text= first=x"),
      (["--text=a=b", "x"], "number=7 text=a=b first=x"),
      (["--text=--quiet", "x"], "number=7 text=--quiet first=x"),
      (["--text", "-5", "x"], "number=7 text=-5 first=x"),
      (["--text", "-", "x"], "number=7 text=- first=x"),
      (["--text", "", "x"], "number=7 text= first=x"),
      (["--text", "a", "--text", "b", "x"], "number=7 text=b first=x"),
      (["--tag", "a", "--tag=b", "x"], "number=7 tag=a tag=b first=x"),
      (["--size", "large", "x"], "number=7 size=large first=x"),
      (["-"], "number=7 first=-"),
      ([""], "number=7 first="),
      (["--", "--quiet"], "number=7 first=--quiet"),
      (["--", "--", "80"], "number=7 first=-- port=80"),
      (["-q", "--", "-n", "80"], "quiet number=7 first=-n port=80"),
      (["x", "80"], "number=7 first=x port=80"),
      (["--unix", "/s"], "number=7 unix=/s"),
      (["--unix", "/s", "80"], "number=7 unix=/s port=80"),
      (["--help"], "help"),
      (["-h", "--nonsense"], "help"),
      (["-qh"], "help"),
      (["x", "y", "z", "--help"], "help"),
    ])
  func values(_ words: [String], _ expected: String) throws {
    #expect(try summary(words) == expected)
  }

  @Test(
    "a line that cannot be run says why",
    arguments: [
      ([], "Missing expected argument '<first>'"),
      (["x", "80", "y"], "Unexpected argument 'y'"),
      (["--unix", "/s", "80", "y"], "Unexpected argument 'y'"),
      (["--quite", "x"], "Unknown option '--quite'. Did you mean '--quiet'?"),
      (["--nubmer=5", "x"], "Unknown option '--nubmer'. Did you mean '--number'?"),
      (["--zzzzzz", "x"], "Unknown option '--zzzzzz'"),
      (["-z", "x"], "Unknown option '-z'"),
      (["-qz", "x"], "Unknown option '-qz'"),
      (["--=5", "x"], "Unknown option '--'"),
      (["--quiet=yes", "x"], "The option '--quiet' does not take any value, but 'yes' was specified"),
      (["x", "--number"], "Missing value for '--number <number>'"),
      (["x", "-qn"], "Missing value for '--number <number>'"),
      (["--text", "--quiet", "x"], "Missing value for '--text <text>'"),
      (["--text", "-q", "x"], "Missing value for '--text <text>'"),
      (["--text", "--number=5", "x"], "Missing value for '--text <text>'"),
      (["--text", "--", "x"], "Missing value for '--text <text>'"),
      (
        ["--number", "51", "x"],
        "The value '51' is invalid for '--number <number>': expected a whole number from 0 to 50"
      ),
      (
        ["--number=", "x"],
        "The value '' is invalid for '--number <number>': expected a whole number from 0 to 50"
      ),
      (
        ["--size", "lagre", "x"],
        "The value 'lagre' is invalid for '--size <size>': expected one of small, large. Did you mean 'large'?"
      ),
      (["x", "0"], "The value '0' is invalid for '<port>': expected a port from 1 to 65535"),
      (
        ["--unix", "", "x"], "The value '' is invalid for '--unix <path>': expected a path of 1 to 107 bytes"
      ),
    ])
  func errors(_ words: [String], _ message: String) throws {
    #expect(throws: UsageError(message)) { try summary(words) }
  }
}

@Suite("The types of values", .timeLimit(.minutes(2)))
struct ValueTypeTests {
  @Test("a number is decimal and within its range", arguments: [("0", 0), ("50", 50), ("+5", 5), ("007", 7)])
  func integers(_ text: String, _ value: Int) { #expect(ValueType.integer(0...50).parse(text) == value) }

  @Test(
    "what is not such a number is refused",
    arguments: ["", "-1", "51", "5.0", "5 ", "five", "0x5", "99999999999999999999"])
  func notIntegers(_ text: String) { #expect(ValueType.integer(0...50).parse(text) == nil) }

  @Test("a port is 1 to 65535", arguments: [("1", UInt16(1)), ("80", 80), ("65535", 65_535)])
  func ports(_ text: String, _ port: UInt16) {
    #expect(ValueType.port.parse(text) == port)
    #expect(ValueType.listeningPort.parse(text) == port)
  }

  @Test("what is not a port is refused", arguments: ["", "-1", "65536", "abc", "80x", " 80"])
  func notPorts(_ text: String) {
    #expect(ValueType.port.parse(text) == nil)
    #expect(ValueType.listeningPort.parse(text) == nil)
  }

  @Test("port 0 is for listening only")
  func portZero() {
    #expect(ValueType.port.parse("0") == nil)
    #expect(ValueType.listeningPort.parse("0") == 0)
  }

  @Test(
    "seconds may have a fraction",
    arguments: [
      ("10", 10_000), ("0.5", 500), (".25", 250), ("0.001", 1), ("86400", 86_400_000), ("1.2345", 1_235),
    ])
  func seconds(_ text: String, _ milliseconds: Int) {
    #expect(ValueType.seconds.parse(text) == .milliseconds(milliseconds))
  }

  @Test(
    "what is not a time is refused",
    arguments: ["", "0", "-1", "86401", "1e3", "inf", "nan", "0x1", "1,5", "1.2.3", "."])
  func notSeconds(_ text: String) { #expect(ValueType.seconds.parse(text) == nil) }

  @Test("milliseconds are whole", arguments: [("0", 0), ("300", 300), ("3600000", 3_600_000)])
  func milliseconds(_ text: String, _ value: Int) {
    #expect(ValueType.milliseconds.parse(text) == .milliseconds(value))
  }

  @Test(
    "a host is a name or an address",
    arguments: [
      "localhost", "127.0.0.1", "::1", "[::1]", "fe80::1%eth0", "no-such-host.invalid", "müller.example",
      "a_b",
    ])
  func hosts(_ text: String) { #expect(ValueType.host.parse(text) == text) }

  @Test(
    "a URL, a host with a port, and nothing are not hosts",
    arguments: ["", "http://127.0.0.1", "127.0.0.1:80", "a b", "a/b", "user@host", "[]", "a\nb"])
  func notHosts(_ text: String) { #expect(ValueType.host.parse(text) == nil) }

  @Test("a socket's path has at most 107 bytes, whatever its characters")
  func socketPaths() {
    let longest = String(repeating: "p", count: 107)
    #expect(ValueType.socketPath.parse(longest) == longest)
    #expect(ValueType.socketPath.parse(longest + "p") == nil)
    #expect(ValueType.socketPath.parse(String(repeating: "ü", count: 54)) == nil)
    #expect(ValueType.socketPath.parse("") == nil)
    #expect(ValueType.socketPath.parse("a\0b") == nil)
  }

  @Test("a mapping has a name and at least one address, which may contain colons")
  func mappings() {
    #expect(
      ValueType.hostMapping.parse("two.test:127.0.0.2,127.0.0.1")
        == HostMapping(name: "two.test", addresses: ["127.0.0.2", "127.0.0.1"]))
    #expect(
      ValueType.hostMapping.parse("six:::1,fe80::1%2")
        == HostMapping(name: "six", addresses: ["::1", "fe80::1%2"]))
    for text in ["", "a", "a:", ":1.2.3.4", "a:1.2.3.4,", "a b:1.2.3.4"] {
      #expect(ValueType.hostMapping.parse(text) == nil, "\(text)")
    }
  }
}

@Suite("Suggestions", .timeLimit(.minutes(2)))
struct SuggestionTests {
  @Test(
    "the distance counts letters put in, left out, exchanged and swapped",
    arguments: [
      ("", "", 0), ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0), ("abc", "abd", 1), ("abc", "ab", 1),
      ("send", "sned", 1), ("kitten", "sitting", 3), ("timeuot", "timeout", 1), ("abcd", "badc", 2),
    ])
  func distances(_ a: String, _ b: String, _ distance: Int) {
    #expect(editDistance(a, b) == distance)
    #expect(editDistance(b, a) == distance)
  }

  @Test(
    "a typo finds the name that was meant, anything else finds none",
    arguments: [
      ("sned", "send"), ("snd", "send"), ("recieve", "receive"), ("rceive", "receive"), ("cfred", "cfread"),
      ("echo", "echod"), ("hepl", "help"), ("fetch", nil), ("", nil), ("x", nil), ("sendreceive", nil),
    ])
  func names(_ text: String, _ expected: String?) {
    #expect(nearestName(to: text, among: Program.spec.subcommands.map(\.name)) == expected)
  }

  @Test("every long option of every command is found with its last letters swapped")
  func everyOption() throws {
    for command in Program.spec.subcommands {
      for option in command.options where option.name.count > 3 {
        var letters = Array(option.flag)
        letters.swapAt(letters.count - 1, letters.count - 2)
        guard String(letters) != option.flag else { continue }
        let found = nearestName(to: String(letters), among: command.options.map(\.flag))
        #expect(found == option.flag, "\(command.name)")
      }
    }
  }
}
