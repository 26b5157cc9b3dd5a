// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// `demo http10`: an HTTP/1.0 client for requests that are typed by hand.

import SocketStreams

/// The subcommand `http10`.
enum HTTP10Command {
  static let output = Setting(
    "out", short: "o", "folder", .path, default: ".", ".", help: "The folder for the bodies of replies.")
  static let raw = Flag(
    "http1.0-raw", help: "Send lines with the ends that they were typed with, and not with CR LF.")

  static let spec = CommandSpec(
    "demo http10",
    abstract:
      "Send HTTP requests that are typed by hand, show the headers of replies, and save their bodies.",
    discussion: [
      "Requests are read from standard input, and a blank line ends each. The header of a reply is shown. The body is saved as get.html if it is HTML, as picture.png or the like if it is a picture, and as get.bin otherwise; what is not whole stays behind with .part at the end of its name. A reply with a status other than 200 to 299 is not saved.",
      "The connection is made at once. Most servers end it after a reply: the line '/reconnect' between two requests makes it anew. After a bad reply the next request is read all the same; the first failure decides the exit status.",
    ],
    operands: [CommonOptions.host.spec, CommonOptions.port.spec],
    options: [output.spec, raw.spec] + SecurityOptions.client
      + CommonOptions.connecting.filter { $0.name != CommonOptions.progress.spec.name },
    examples: [
      Example(
        #"printf 'GET / HTTP/1.0\n\n' | demo http10 localhost 80 --out ."#, "One request, saved as get.html."),
      Example("demo http10 localhost 80 --events", "Requests from the keyboard, and each event."),
      Example("demo http10 example.org 443 --tls", "The same to a server with https."),
    ],
    exitCodes: [
      .done, .notConnected, .connectionBroke, .badData, .httpStatus, .timeLimit, .localFile, .usage,
      .interrupted,
      .outputGone,
    ])
}

extension HTTP10Command {
  /// Runs `http10` until standard input ends and every request has been answered.
  static func run(_ arguments: ParsedArguments, console: sending Console) throws -> ExitCode {
    let target = try Target(arguments)
    let isJSON = arguments[CommonOptions.json]
    let folder = arguments[output]
    let input: ByteSource
    do {
      input = try makeInput(folder)
    } catch {
      console.error(error.line(for: target.description))
      return error.exitCode
    }
    let plan = HTTPPlan(
      target: target, input: input, folder: folder, keepsLineEnds: arguments[raw], printsReplies: !isJSON,
      tellsEvents: arguments[CommonOptions.events], isVerbose: arguments[CommonOptions.verbose])
    let log = ReplyLog()
    let request = SessionRequest(
      command: spec.name, target: target.description, warning: target.warning, isJSON: isJSON,
      isVerbose: plan.isVerbose,
      more: { [.init("replies", log.json)] })
    return try Session.run(request, console: console, startThread: OwnStreams.startThread(named:)) {
      net, printer, report in
      HTTPClient(plan, on: net, printer: printer, log: log, report: report)
    } summary: { result in
      "\(log.replyCount) replies over \(result.connections) connections"
    }
  }

  /// Standard input. A folder in which nothing can be saved is refused before anything is sent.
  private static func makeInput(_ folder: String) throws(Failure) -> ByteSource {
    do {
      try PartFile.check(folder: folder)
    } catch {
      throw error.failure(folder, during: .write)
    }
    return try CommonOptions.standardInput()
  }
}
