// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `demo receive`: opens a pair, reads until the end, and shows the text.

import SocketStreams

/// The subcommand `receive`.
enum ReceiveCommand {
  static let text = Option(
    "text", "text", .text, help: "Send this after the server has ended its side.")
  static let file = Option(
    "file", short: "f", "path", .path, help: "Send this file after the end; - is standard input.")
  static let hex = Flag(
    "hex", short: "x", help: "Show bytes that are not UTF-8 as \\xNN instead of a replacement mark.")
  static let output = Option(
    "output", short: "o", "path", .path,
    help: "Put the bytes, as they are, into this file; - is standard output.")

  static let spec = CommandSpec(
    "demo receive",
    abstract: "Read until the server ends, and show the text.",
    discussion: [
      "The text goes to standard output after the word 'receive: ', and only whole characters, however the bytes were cut. With --output the bytes go there as they are."
    ],
    operands: [CommonOptions.host.spec, CommonOptions.port.spec],
    options: [text.spec, file.spec, hex.spec, output.spec, CommonOptions.foundation.spec]
      + SecurityOptions.client + [SecurityOptions.startTLS.spec] + CommonOptions.connecting,
    examples: [
      Example("demo receive localhost 9001 --events", "The text, and each event."),
      Example(
        "demo receive localhost 9001 --output big.bin", "The bytes, into a file, with a progress line."),
      Example(
        "demo receive localhost 9001 --text thanks", "Answers on the open half after the server's end."),
      Example("demo receive localhost 9001 --foundation", "The same job by an InputStream and its delegate."),
    ],
    exitCodes: CommonOptions.exitCodes)
}

extension ReceiveCommand {
  /// Runs `receive` to its end.
  static func run(_ arguments: ParsedArguments, console: sending Console) throws -> ExitCode {
    if arguments[CommonOptions.foundation] {
      try CommonOptions.refuseOwnStreamsOptions(arguments, besides: CommonOptions.foundation)
    }
    let target = try Target(arguments)
    let isJSON = arguments[CommonOptions.json]
    let path = arguments[output]
    if isJSON, path == "-" { throw UsageError("--json and --output - both want standard output") }
    var source: ByteSource?
    let sink: Printer.Sink
    do {
      source = try CommonOptions.source(arguments, text, file, suffix: [])
      sink = try makeSink(path, isJSON: isJSON, replacing: arguments[hex] ? .hex : .mark)
    } catch let failure as Failure {
      console.error(failure.line(for: target.description))
      return failure.exitCode
    }
    let plan = TransferPlan(
      source: source, sendsAfterEnd: true, waitsForEnd: true, printsInput: path != nil || !isJSON,
      countsInput: true,
      tellsEvents: arguments[CommonOptions.events], isVerbose: arguments[CommonOptions.verbose])
    let request = SessionRequest(
      command: spec.name, target: target.description, warning: target.warning, isJSON: isJSON,
      isVerbose: plan.isVerbose,
      progress: Progress(
        name: path?.withoutFolders ?? "receive", done: 0, total: nil, rate: nil, elapsed: .zero))
    return try Session.run(
      request, plan, to: target, by: CommonOptions.connectionFamily(arguments), sink: sink, console: console
    ) { result in
      let answer = result.sent > 0 ? ", \(result.sent) sent after it" : ""
      return "end, \(result.received) bytes\(answer)"
    }
  }

  private static func makeSink(
    _ path: String?, isJSON: Bool, replacing replacement: UTF8Decoder.Replacement
  ) throws(Failure) -> Printer.Sink {
    guard let path else {
      return isJSON ? .nowhere : .text(UTF8Decoder(replacing: replacement), prefix: "receive: ")
    }
    do {
      return .file(try OutputFile(path))
    } catch {
      throw error.failure(path, during: .write)
    }
  }
}
