// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `demo chat`: says what is typed, and shows what all others say.

import SocketStreams

/// The subcommand `chat`.
enum ChatCommand {
  static let name = Option(
    "name", short: "n", "name", .chatName, help: "Who you are. It has to be given.")
  static let history = Setting(
    "history", "number", .integer(0...1_000_000), default: 0, "0",
    help: "Print the last lines, as many as this, once more at the end.")
  static let reconnect = Flag(
    "reconnect", short: "r",
    help: "Connect again when the connection breaks: after half a second, then a second, then two, up to 30.")

  static let spec = CommandSpec(
    "demo chat",
    abstract: "Talk to those who are connected to the same server.",
    discussion: [
      "Says 'iam:' and the name, and then each line that is typed, with 'msg:' before it and at most 4096 bytes: one after the server's answer to another, or after half a second without one. Each line that comes is printed. The line '/quit', or the end of input, leaves."
    ],
    operands: [CommonOptions.host.spec, CommonOptions.port.spec],
    options: [
      name.spec, history.spec, reconnect.spec, CommonOptions.events.spec, CommonOptions.timeout.spec,
      CommonOptions.resolve.spec, CommonOptions.unix.spec, CommonOptions.transport.spec,
    ] + SecurityOptions.client + [
      CommonOptions.json.spec, CommonOptions.color.spec, CommonOptions.verbose.spec,
    ],
    examples: [
      Example("demo chat localhost 1025 --name Maggie", "Talks until /quit."),
      Example("demo chat localhost 1025 -n Ann --reconnect", "The same, through restarts of the server."),
      Example("demo chat localhost 1025 -n Ann --history 20", "At the end, the last 20 lines again."),
      Example("demo chat chat.example 1025 -n Ann --tls", "The same, with a server that is secured by TLS."),
    ],
    exitCodes: [
      .done, .notConnected, .connectionBroke, .badData, .timeLimit, .localFile, .usage, .interrupted,
      .outputGone,
    ])
}

extension ChatCommand {
  /// Runs `chat` to its end.
  static func run(_ arguments: ParsedArguments, console: sending Console) throws -> ExitCode {
    guard let name = arguments[name] else { throw UsageError("Missing option '\(name.spec.synopsis)'") }
    let target = try Target(arguments)
    let isJSON = arguments[CommonOptions.json]
    if isJSON, arguments.has(history.spec) {
      throw UsageError("--json and --history both want standard output")
    }
    let source: ByteSource
    do {
      source = try CommonOptions.standardInput()
    } catch let failure {
      console.error(failure.line(for: target.description))
      return failure.exitCode
    }
    let plan = ChatPlan(
      name: name, history: arguments[history], reconnects: arguments[reconnect],
      tellsEvents: arguments[CommonOptions.events], isVerbose: arguments[CommonOptions.verbose],
      printsLines: !isJSON)
    let counts = ChatCounts()
    let request = SessionRequest(
      command: spec.name, target: target.description, warning: target.warning, isJSON: isJSON,
      isVerbose: plan.isVerbose,
      more: { [.init("lines", .integer(counts.lines))] })
    return try Session.run(request, console: console, startThread: OwnStreams.startThread(named:)) {
      net, printer, report in
      ChatClient(plan, target, input: source, on: net, printer: printer, counts: counts, report: report)
    } summary: { result in
      "\(counts.lines) lines, in \(Quantities.seconds(result.elapsed))"
    }
  }
}
