// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The command line: names the benchmarks, runs one of them, or times them all.

import Glibc

@main
struct MicroBenchmarks {
  private static let usage = """
    usage: MicroBenchmarks list              the names, and what one operation is
           MicroBenchmarks run NAME COUNT    does one benchmark's operation COUNT times
           MicroBenchmarks all               a table of times, for information

    """

  static func main() {
    do {
      try perform(Array(CommandLine.arguments.dropFirst()))
    } catch {
      fail("MicroBenchmarks: \(error)\n", EXIT_FAILURE)
    }
  }

  private static func perform(_ arguments: [String]) throws {
    switch (arguments.first, arguments.count) {
    case ("list", 1): list()
    case ("run", 3): try run(arguments[1], arguments[2])
    case ("all", 1): try timeAll()
    case ("--help", 1), ("-h", 1): print(usage, terminator: "")
    default: fail(usage, EX_USAGE)
    }
  }

  private static func list() {
    for benchmark in benchmarks { print(padded(benchmark.name, nameWidth), benchmark.operation) }
  }

  private static func run(_ name: String, _ countText: String) throws {
    guard let benchmark = benchmarks.first(where: { $0.name == name }) else {
      fail("MicroBenchmarks: no benchmark is called \(name); `list` names them\n", EX_USAGE)
    }
    guard let count = Int(countText), count > 0 else {
      fail("MicroBenchmarks: \(countText) is not a count of 1 or more\n", EX_USAGE)
    }
    try benchmark.init().run(count)
  }

  private static func timeAll() throws {
    print(padded("benchmark", nameWidth), leftPadded("ns", 10), leftPadded("a second", 12), " one operation")
    for benchmark in benchmarks {
      let nanoseconds = try time(benchmark)
      let rate = Int(1_000_000_000 / nanoseconds)
      print(
        padded(benchmark.name, nameWidth), leftPadded("\(Int(nanoseconds.rounded()))", 10),
        leftPadded("\(rate)", 12), " \(benchmark.operation)")
      fflush(nil)
    }
  }

  /// Nanoseconds an operation, of a run that lasts a tenth of a second or longer, or has many operations.
  private static func time(_ benchmark: any Benchmark.Type) throws -> Double {
    let instance = try benchmark.init()
    var count = 100
    while true {
      let duration = try ContinuousClock().measure { try instance.run(count) }
      if duration >= .milliseconds(100) || count >= largestCount {
        return max(duration / .nanoseconds(1), 1) / Double(count)
      }
      count *= 4
    }
  }

  private static func fail(_ message: String, _ code: Int32) -> Never {
    _ = message.withCString { write(STDERR_FILENO, $0, strlen($0)) }
    exit(code)
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(width - text.count, 0))
  }

  private static func leftPadded(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(width - text.count, 0)) + text
  }

  private static let nameWidth = 28
  private static let largestCount = 10_000_000
}
