// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `demo send`: opens a pair, waits for room, writes, closes, and makes sure that everything was taken.

import SocketStreams

/// The subcommand `send`.
enum SendCommand {
  static let text = Option("text", "text", .text, help: "What to send. (default: Hello Server!)")
  static let file = Option("file", short: "f", "path", .path, help: "Send this file; - is standard input.")
  static let nul = Flag("nul", short: "0", help: "Send a zero byte at the end.")
  static let count = Setting(
    "count", short: "n", "number", .integer(1...1_000), default: 1, "1",
    help: "Open this many connections at once, as if Send were pressed that fast.")
  static let receive = Flag("receive", short: "r", help: "Print what comes back, until the server ends it.")

  static let spec = CommandSpec(
    "demo send",
    abstract: "Send a text or a file, and wait until the server's system has taken all of it.",
    operands: [CommonOptions.host.spec, CommonOptions.port.spec],
    options: [text.spec, file.spec, nul.spec, count.spec, receive.spec, CommonOptions.foundation.spec]
      + SecurityOptions.client + [SecurityOptions.startTLS.spec] + CommonOptions.connecting,
    examples: [
      Example(
        "demo send localhost 9000 --text 'Hello Server!' --nul --events",
        "A text, a zero byte, and what happened."),
      Example(
        "demo send localhost 9000 --file big.bin --json", "A file, and a summary that a program can read."),
      Example("demo send localhost 9000 --foundation", "The same job by an OutputStream and its delegate."),
      Example("tar c . | demo send --unix /run/sink --file -", "Standard input, to a Unix-domain socket."),
    ],
    exitCodes: CommonOptions.exitCodes)
}

extension SendCommand {
  /// Runs `send` to its end.
  static func run(_ arguments: ParsedArguments, console: sending Console) throws -> ExitCode {
    if arguments[CommonOptions.foundation] {
      try CommonOptions.refuseOwnStreamsOptions(arguments, besides: CommonOptions.foundation)
    }
    let target = try Target(arguments)
    let count = arguments[self.count]
    if count > 1, arguments[file] == "-" { throw UsageError("Standard input cannot be sent more than once") }
    if count > 1, arguments[receive] { throw UsageError("--receive goes with a single connection") }
    let suffix: [UInt8] = arguments[nul] ? [0] : []
    let source: ByteSource
    do {
      source =
        try CommonOptions.source(arguments, text, file, suffix: suffix)
        ?? ByteSource(greeting, suffix: suffix)
    } catch let failure as Failure {
      console.error(failure.line(for: target.description))
      return failure.exitCode
    }
    let isJSON = arguments[CommonOptions.json]
    let plan = TransferPlan(
      source: source, waitsForEnd: arguments[receive], printsInput: arguments[receive] && !isJSON,
      tellsEvents: arguments[CommonOptions.events], isVerbose: arguments[CommonOptions.verbose])
    let request = SessionRequest(
      command: spec.name, target: target.description, warning: target.warning, count: count, isJSON: isJSON,
      isVerbose: plan.isVerbose,
      progress: Progress(
        name: source.name.withoutFolders, done: 0, total: source.count.map { $0 * count }, rate: nil,
        elapsed: .zero))
    let sink = plan.printsInput ? Printer.Sink.text(UTF8Decoder(replacing: .mark), prefix: "") : .nowhere
    return try Session.run(
      request, plan, to: target, by: CommonOptions.connectionFamily(arguments), sink: sink, console: console
    ) { result in
      let connections = count > 1 ? " over \(result.connections) connections" : ""
      return "sent \(result.sent) bytes\(connections) in \(Quantities.seconds(result.elapsed))"
    }
  }

  /// What is sent if nothing else is asked for: what the program of the tutorial sends.
  private static let greeting = Array("Hello Server!".utf8)
}
