// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `demo` alone: the tour.

import SocketStreams

/// The program without a subcommand.
enum TourCommand {
  /// Runs the tour to its end.
  static func run(_ arguments: ParsedArguments, console: sending Console) throws -> ExitCode {
    var options = ConnectionOptions()
    options.transport = arguments[CommonOptions.transport].transport
    let counts = ContextCounts()
    let request = SessionRequest(
      command: Program.spec.name, target: "tour", threadName: "server", summaryIsData: true)
    return try Session.run(request, console: console, startThread: OwnStreams.startThread(named:)) {
      (server, printer, report) throws(StreamError) in
      try Tour(options, server: server, printer: printer, counts: counts, report: report)
    } summary: { result in
      "tour done: \(result.details.joined(separator: ", ")), \(result.sent) bytes sent, \(result.received) received, "
        + "context retained \(counts.retains) times and released \(counts.releases) times, "
        + "\(result.socketsLeft) sockets left, \(Quantities.seconds(result.elapsed))"
    }
  }
}
