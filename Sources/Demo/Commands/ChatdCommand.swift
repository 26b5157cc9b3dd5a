// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `demo chatd`: a server that passes on what each of its clients says.

import SocketStreams

/// The subcommand `chatd`.
enum ChatdCommand {
  static let host = EchodCommand.host
  static let unix = EchodCommand.unix
  static let queueLimit = Setting(
    "queue-limit", "bytes", .integer(4_096...1_073_741_824), default: 262_144, "262144",
    help: "Drop a client for whom more than this many bytes wait, besides what the kernel holds.")

  static let spec = CommandSpec(
    "demo chatd",
    abstract: "Listen, and pass on what each client says to all of them.",
    discussion: [
      "A client says 'iam:NAME' and then 'msg:TEXT', each a line of at most 4096 bytes. All clients hear 'NAME joined', 'NAME: TEXT' and 'NAME left'. Prints 'listening on' and the address as its first line. The limit of open descriptors, one a client, is raised as far as the system allows. SIGINT or SIGTERM ends it.",
      "A connection that breaks, or whose handshake fails, ends alone; --events tells why, and --verbose whose handshake failed, and why.",
    ],
    operands: [EchodCommand.port.spec],
    options: [
      host.spec, unix.spec, queueLimit.spec, CommonOptions.events.spec, EchodCommand.timeout.spec,
    ] + SecurityOptions.server + [
      CommonOptions.json.spec, CommonOptions.color.spec, CommonOptions.verbose.spec,
    ],
    examples: [
      Example("demo chatd 1025", "Port 1025."),
      Example("demo chatd --events", "Any free port, and what becomes of each client."),
      Example(
        "demo chatd 1025 --tls-cert chat.pem", "The same, secured by TLS; the key is in the same file."),
    ],
    exitCodes: [.notConnected, .timeLimit, .localFile, .usage, .interrupted, .outputGone])
}

extension ChatdCommand {
  /// Runs `chatd` until a signal or a time limit.
  static func run(_ arguments: ParsedArguments, console: sending Console) throws -> ExitCode {
    let plan = try EchodCommand.plan(arguments)
    let queueLimit = arguments[queueLimit]
    DescriptorLimit.raise()
    let counts = ChatCounts()
    let request = SessionRequest(
      command: spec.name, target: plan.address.description, isJSON: arguments[CommonOptions.json],
      isVerbose: plan.isVerbose,
      more: { [.init("lines", .integer(counts.lines)), .init("dropped", .integer(counts.dropped))] })
    return try Session.run(request, console: console, startThread: OwnStreams.startThread(named:)) {
      net, printer, report in
      ChatServer(
        plan, queueLimit: queueLimit, on: net, printer: printer, counts: counts, report: report)
    } summary: { result in
      "\(result.connections) connections, \(counts.lines) lines, in \(Quantities.seconds(result.elapsed))"
    }
  }
}
