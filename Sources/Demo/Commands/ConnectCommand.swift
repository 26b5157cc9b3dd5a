// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `demo connect`: standard input to a connection, and what comes back to standard output, as netcat does.

/// The subcommand `connect`.
enum ConnectCommand {
  static let spec = CommandSpec(
    "demo connect",
    abstract: "Send standard input, and print what comes back.",
    discussion: [
      "Bytes go both ways as they are, at the same time. The end of the input ends the sending side only: what the server still sends is printed, until it ends too. When the server ends first, the input is still sent.",
      "--timeout is for connecting, and, once the input has ended, for a server that neither takes nor sends anything. Until then a session may be idle for as long as it likes.",
    ],
    operands: [CommonOptions.host.spec, CommonOptions.port.spec],
    // No progress line: it would stand in the middle of a conversation.
    options: SecurityOptions.client + [SecurityOptions.startTLS.spec]
      + CommonOptions.connecting.filter { $0.name != CommonOptions.progress.spec.name },
    examples: [
      Example("demo connect localhost 7000", "A conversation, a line at a time; Ctrl-D ends your side."),
      Example(
        "printf 'GET / HTTP/1.0\\r\\n\\r\\n' | demo connect localhost 80", "A request, and the whole reply."),
      Example("demo connect example.org 443 --tls --alpn http/1.1", "The same, secured by TLS."),
      Example(
        "demo connect mail.example 110 --starttls '' --starttls STLS",
        "POP3: the greeting, the request for TLS, and then what you type."),
      Example("ls -l | demo connect --unix /run/sink --events", "A pipe to a Unix-domain socket."),
    ],
    exitCodes: CommonOptions.exitCodes)
}

extension ConnectCommand {
  /// Runs `connect` to its end.
  static func run(_ arguments: ParsedArguments, console: sending Console) throws -> ExitCode {
    let target = try Target(arguments)
    let isJSON = arguments[CommonOptions.json]
    let source: ByteSource
    let sink: Printer.Sink
    do {
      source = try ByteSource(file: "-", suffix: [])
      sink = isJSON ? .nowhere : .file(try OutputFile("-"))
    } catch {
      let failure = error.failure("standard input", during: .read)
      console.error(failure.line(for: target.description))
      return failure.exitCode
    }
    let plan = TransferPlan(
      source: source, waitsForEnd: true, isConversation: true, printsInput: !isJSON,
      tellsEvents: arguments[CommonOptions.events], isVerbose: arguments[CommonOptions.verbose])
    let request = SessionRequest(
      command: spec.name, target: target.description, warning: target.warning, isJSON: isJSON,
      isVerbose: plan.isVerbose)
    return try Session.run(request, plan, to: target, by: OwnStreams.self, sink: sink, console: console) {
      "sent \($0.sent) bytes, received \($0.received) bytes in \(Quantities.seconds($0.elapsed))"
    }
  }
}
