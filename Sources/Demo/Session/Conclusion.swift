// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The end of a run: the rest of the output, the error line, the summary, the exit code.

import SocketStreams

/// How a run went.
struct Conclusion {
  private let request: SessionRequest
  private let result: SessionResult

  init(_ request: SessionRequest, _ result: SessionResult) {
    self.request = request
    self.result = result
  }

  /// Ends the output, and tells how the run went. After a signal it does not return.
  func tell(_ printer: isolated Printer, summary: (SessionResult) -> String) -> ExitCode {
    printer.endOutput(succeeded: result.failure == nil && !result.isInterrupted)
    let code = tellOutcome(printer, summary)
    if request.isVerbose { printer.note("sockets left: \(result.socketsLeft)") }
    if let number = result.signal {
      printer.eraseProgress()
      SignalWatch.end(by: number)
    }
    return code
  }

  private func tellOutcome(_ printer: isolated Printer, _ summary: (SessionResult) -> String) -> ExitCode {
    if printer.outputFailure == .readerGone { return .outputGone }
    let failure = printer.failure ?? result.failure
    let code = failure?.exitCode ?? .done
    if let failure, !failure.isTold { printer.error(failure.line(for: request.target)) }
    if request.isJSON {
      printer.eraseProgress()
      printer.write(json(failure, result.signal.map(ExitCode.signal) ?? code).text + "\n")
    } else if result.signal != nil {
      printer.note("interrupted, \(max(result.sent, result.received)) bytes")
    } else if failure == nil {
      let line = summary(result)
      request.summaryIsData ? printer.write(line + "\n") : printer.note(line)
    }
    return printer.outputFailure?.exitCode ?? code
  }

  private func json(_ failure: Failure?, _ code: ExitCode) -> JSONValue {
    let members: [JSONValue.Member] = [
      .init("command", .string(request.command)), .init("target", .string(request.target)),
      .init("status", .integer(Int(code.rawValue))), .init("connections", .integer(result.connections)),
      .init("sent", .integer(result.sent)), .init("received", .integer(result.received)),
      .init("seconds", .milli(Quantities.milliseconds(result.elapsed))),
      .init("socketsLeft", .integer(result.socketsLeft)),
    ]
    return .object(members + request.more() + [.init("error", failure?.json ?? .null)])
  }
}
