// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Runs `send` and `receive`, which are the same but for their plan.

import SocketStreams

extension Session {
  /// Runs a transfer for each task of the request, by the streams of `family`.
  static func run<Family: ConnectionFamily>(
    _ request: SessionRequest, _ plan: TransferPlan, to target: Target, by family: Family.Type,
    sink: sending Printer.Sink, console: sending Console,
    summary: @escaping @Sendable (SessionResult) -> String
  ) throws(StreamError) -> ExitCode {
    try run(request, sink: sink, console: console, startThread: Family.startThread(named:)) {
      net, printer, report in
      Transfer(plan, timeout: target.timeout, on: net, printer: printer, report: report) {
        () throws(StreamError) in
        try Family.makeConnection(target, on: net)
      }
    } summary: {
      summary($0)
    }
  }
}
