// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `demo echod`: a server that sends back what it gets.

import SocketStreams

/// The subcommand `echod`.
enum EchodCommand {
  static let port = Operand(
    "port", .listeningPort, .optional, help: "Where to listen; 0 has the system choose. (default: 0)")
  static let host = Setting(
    "host", "address", .host, default: "127.0.0.1", "127.0.0.1", help: "The address to listen on.")
  static let unix = Option(
    "unix", short: "u", "path", .socketPath, help: "Listen on this Unix-domain socket instead.")
  static let threads = Setting(
    "threads", "number", .integer(1...64), default: 1, "1",
    help: "The threads that serve connections, each with a loop.")
  static let closure = Flag("closure", help: "Serve with closures instead of a C callback and a context.")
  static let once = Flag("once", help: "End after the first connection.")
  static let timeout = Option(
    "timeout", short: "t", "seconds", .seconds,
    help: "End with status 6 when nothing happens for this long. Without it, never.")

  static let spec = CommandSpec(
    "demo echod",
    abstract: "Listen, and send back what arrives.",
    discussion: [
      "Prints 'listening on' and the address as its first line. A slow reader costs no memory: its connection is not read while its answers wait. The limit of open descriptors, one a connection, is raised as far as the system allows (ulimit -Hn). SIGINT or SIGTERM ends it.",
      "A connection that breaks, or whose handshake fails, ends alone; --events tells why, and --verbose whose handshake failed, and why.",
    ],
    operands: [port.spec],
    options: [
      host.spec, unix.spec, threads.spec, closure.spec, once.spec, CommonOptions.events.spec, timeout.spec,
    ] + SecurityOptions.server + [
      CommonOptions.json.spec, CommonOptions.color.spec, CommonOptions.verbose.spec,
    ],
    examples: [
      Example("demo echod 7000 --threads 2", "Port 7000, two threads."),
      Example("demo echod --once --events", "Any free port, one connection, and each of its events."),
      Example("demo echod 7000 --tls-cert cert.pem --tls-key key.pem", "Port 7000, secured by TLS."),
    ],
    exitCodes: [
      .done, .notConnected, .connectionBroke, .timeLimit, .localFile, .usage, .interrupted, .outputGone,
    ])
}

extension EchodCommand {
  /// Runs `echod` until a signal, a time limit or the end of its one connection.
  static func run(_ arguments: ParsedArguments, console: sending Console) throws -> ExitCode {
    let plan = try plan(arguments)
    let connection = EchoPlan(usesClosures: arguments[closure], security: plan.security)
    let once = arguments[once]
    DescriptorLimit.raise()
    let counts = ContextCounts()
    let workers = try EventBaseGroup(count: arguments[threads], name: "echo")
    let request = SessionRequest(
      command: spec.name, target: plan.address.description, isJSON: arguments[CommonOptions.json],
      isVerbose: plan.isVerbose,
      more: { [.init("retains", .integer(counts.retains)), .init("releases", .integer(counts.releases))] })
    return try Session.run(request, console: console, startThread: OwnStreams.startThread(named:)) {
      net, printer, report in
      EchoServer(
        plan, serving: connection, once: once, on: net, workers: workers, printer: printer, counts: counts,
        report: report)
    } summary: { result in
      "\(result.connections) connections, \(result.received) bytes, in \(Quantities.seconds(result.elapsed))"
    }
  }

  /// What the options that all servers have ask for.
  static func plan(_ arguments: ParsedArguments) throws -> ServerPlan {
    let address = try address(arguments)
    return ServerPlan(
      address: address, security: try Security.server(arguments, at: address.description),
      timeout: arguments[timeout], tellsEvents: arguments[CommonOptions.events],
      isVerbose: arguments[CommonOptions.verbose], printsAddress: !arguments[CommonOptions.json])
  }

  /// Where a server is to listen.
  private static func address(_ arguments: ParsedArguments) throws(UsageError) -> SocketAddress {
    if let path = arguments[unix] {
      guard arguments[port] == nil else { throw UsageError("A port and --unix exclude each other") }
      // The option has checked what can be wrong with a path.
      if let address = try? SocketAddress(unixPath: path) { return address }
    }
    let host = arguments[host]
    guard let address = SocketAddress(ip: host, port: arguments[port] ?? 0) else {
      throw UsageError("'\(host)' in --host is not an address")
    }
    return address
  }
}
