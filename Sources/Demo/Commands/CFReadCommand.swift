// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `demo cfread`: a read stream alone, with a C client context, on a thread of its own.

import SocketStreams

/// When the client is set.
enum ClientOrder: String, Choice {
  /// Before the stream is scheduled and opened.
  case before
  /// After it was opened.
  case after
  /// Before, and again after: the second replaces the first.
  case twice
}

extension ValueType<HostAndPort> {
  /// `host:port`, as the library reads it.
  static var endpoint: Self {
    Self(expecting: "host:port, with a port from 1 to 65535 and an IPv6 address in brackets") { text in
      try? HostAndPort(parsing: text)
    }
  }
}

/// The subcommand `cfread`.
enum CFReadCommand {
  static let endpoint = Operand(
    "host:port", .endpoint, .replaced(byOption: CommonOptions.unix.spec.name),
    help: "Where to connect to: 'name:port', '127.0.0.1:port' or '[::1]:port'.")
  static let coreFoundation = Flag(
    "corefoundation",
    help:
      "Use CoreFoundation's own CFReadStream, on a thread that runs a CFRunLoop. Not with --tls, --resolve or --transport."
  )
  static let contextTrace = Flag(
    "context-trace", short: "c", help: "Tell each retain and release of the client context, and their counts."
  )
  static let mask = Setting(
    "mask", short: "m", "bits", .integer(0...31), default: 26, "26",
    help: "The events to ask for: open 1, bytes 2, room 4, error 8, end 16.")
  static let clearInCallback = Flag(
    "clear-in-callback", help: "Remove the client in its first call.")
  static let nullCallback = Flag("null-callback", help: "Set a client without a callback.")
  static let setClient = Setting(
    "set-client", "when", default: ClientOrder.before, help: "When to set the client, as to opening.")
  static let poll = Flag("poll", help: "Schedule nowhere; ask whether bytes are there.")
  static let block = Flag("block", help: "Schedule nowhere; read at once, and wait in the read.")
  static let stopNow = Flag("stop-now", help: "Ask the loop to stop before it runs.")
  static let unschedule = Option(
    "unschedule", "ms", .milliseconds,
    help: "Unschedule at the first bytes, and schedule again after this many milliseconds.")
  static let openTwice = Flag("open-twice", help: "Open a second time, and tell the answer.")

  static let spec = CommandSpec(
    "demo cfread",
    abstract: "Read with a C callback and a client context on a thread of its own, as CFReadStream is used.",
    discussion: [
      "Makes only the read half of a pair, sets a client of a C function and a context, schedules it on the thread 'net', opens it and runs the loop. The main thread prints the whole text at the end."
    ],
    operands: [endpoint.spec],
    options: [
      coreFoundation.spec, contextTrace.spec, mask.spec, clearInCallback.spec, nullCallback.spec,
      setClient.spec, poll.spec,
      block.spec,
      stopNow.spec, unschedule.spec, openTwice.spec,
    ] + SecurityOptions.client + CommonOptions.connecting,
    examples: [
      Example("demo cfread 127.0.0.1:9002 --events", "The steps and the events, with their thread."),
      Example(
        "demo cfread 127.0.0.1:9002 --context-trace", "How often the context is retained and released."),
      Example("demo cfread 127.0.0.1:9002 --unschedule 300", "No event for 300 ms, then all bytes."),
      Example("demo cfread 127.0.0.1:9002 --corefoundation", "The same job by CoreFoundation's functions."),
    ],
    exitCodes: CommonOptions.exitCodes)
}

extension CFReadCommand {
  /// Runs `cfread` to its end.
  static func run(_ arguments: ParsedArguments, console: sending Console) throws -> ExitCode {
    let ways = [arguments[poll], arguments[block], arguments[stopNow], arguments[unschedule] != nil]
    if ways.count(where: \.self) > 1 {
      throw UsageError("--poll, --block, --stop-now and --unschedule exclude each other")
    }
    if arguments[coreFoundation] {
      try CommonOptions.refuseOwnStreamsOptions(arguments, besides: coreFoundation)
    }
    let target = try Target(endpoint: arguments[endpoint], arguments)
    let isJSON = arguments[CommonOptions.json]
    let plan = CFReadPlan(
      mask: StreamEvents(rawValue: UInt(arguments[mask])), order: arguments[setClient],
      clearsInCallback: arguments[clearInCallback], hasCallback: !arguments[nullCallback],
      polls: arguments[poll],
      blocks: arguments[block], stopsNow: arguments[stopNow], pause: arguments[unschedule],
      opensTwice: arguments[openTwice], tracesContext: arguments[contextTrace],
      tellsEvents: arguments[CommonOptions.events], isVerbose: arguments[CommonOptions.verbose],
      prints: !isJSON)
    let counts = ContextCounts()
    let request = SessionRequest(
      command: spec.name, target: target.description, warning: target.warning, isJSON: isJSON,
      isVerbose: plan.isVerbose,
      tellsThreads: plan.tellsEvents,
      more: { [.init("retains", .integer(counts.retains)), .init("releases", .integer(counts.releases))] })
    let sink = isJSON ? Printer.Sink.nowhere : .text(UTF8Decoder(replacing: .mark), prefix: "")
    let family: any InputFamily.Type = arguments[coreFoundation] ? CFStreams.self : OwnStreams.self
    return try run(family, request, target, plan, counts, sink: sink, console: console)
  }

  private static func run<Family: InputFamily>(
    _ family: Family.Type, _ request: SessionRequest, _ target: Target, _ plan: CFReadPlan,
    _ counts: ContextCounts, sink: sending Printer.Sink, console: sending Console
  ) throws -> ExitCode {
    try Session.run(
      request, sink: sink, console: console, startThread: Family.startThread(named:)
    ) { (net, printer, report) throws(StreamError) in
      CFReader(
        try Family.makeInput(target, on: net), plan, timeout: target.timeout, on: net, printer: printer,
        counts: counts, report: report)
    } summary: { result in
      "end, \(result.received) bytes"
    }
  }
}
