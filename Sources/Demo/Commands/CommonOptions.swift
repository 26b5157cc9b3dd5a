// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The options that several subcommands share.

/// How the bytes travel below the streams.
enum TransportChoice: String, Choice { case direct, bufferevent }

/// A name, and the addresses that stand in for the resolver's answer.
struct HostMapping: Hashable, Sendable {
  let name: String
  let addresses: [String]
}

extension ValueType<HostMapping> {
  /// `name:address[,address…]`; the addresses may contain colons.
  static var hostMapping: Self {
    Self(expecting: "name:address, with further addresses after commas") { text in
      let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, ValueType<String>.host.parse(parts[0]) != nil else { return nil }
      let addresses = parts[1].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      guard addresses.allSatisfy({ ValueType<String>.host.parse($0) != nil }) else { return nil }
      return HostMapping(name: parts[0], addresses: addresses)
    }
  }
}

/// The options that several subcommands share.
enum CommonOptions {
  static let events = Flag("events", short: "e", help: "Tell each stream event on standard error.")
  static let timeout = Setting(
    "timeout", short: "t", "seconds", .seconds, default: .seconds(10), "10",
    help: "End with status 6 when a wait takes longer; fractions are allowed.")
  static let resolve = Option(
    "resolve", "name:address,...", .hostMapping, repeats: true,
    help: "Take these addresses for this name instead of asking the resolver. May be repeated.")
  static let unix = Option(
    "unix", short: "u", "path", .socketPath, help: "Connect to this Unix-domain socket instead.")
  static let json = Flag(
    "json", help: "Print a summary in JSON, as the only thing on standard output.")
  static let color = Setting(
    "color", "when", default: ColorChoice.auto, help: "When to use colours.")
  static let progress = Setting(
    "progress", "when", default: ProgressChoice.auto, help: "When to draw a progress line on standard error.")
  static let transport = Setting(
    "transport", "kind", default: TransportChoice.direct, help: "What carries the bytes below the streams.")
  static let foundation = Flag(
    "foundation",
    help:
      "Use Foundation's own InputStream and OutputStream, on a thread that runs a RunLoop. Not with --tls, --resolve or --transport."
  )
  static let verbose = Flag(
    "verbose", short: "v", help: "Tell on standard error what happens behind the events.")

  /// What every subcommand has that connects, after its own options.
  static let connecting: [OptionSpec] = [
    events.spec, timeout.spec, resolve.spec, unix.spec, transport.spec, json.spec, progress.spec, color.spec,
    verbose.spec,
  ]

  static let host = Operand(
    "host", .host, .replaced(byOption: unix.spec.name), help: "A name, or an IPv4 or IPv6 address.")
  static let port = Operand("port", .port, .replaced(byOption: unix.spec.name), help: "1 to 65535.")

  /// How every subcommand that connects can end.
  static let exitCodes: [ExitCode] = [
    .done, .notConnected, .connectionBroke, .timeLimit, .localFile, .usage, .interrupted, .outputGone,
  ]
}

extension CommonOptions {
  /// Whose streams `send` and `receive` use.
  static func connectionFamily(_ arguments: ParsedArguments) -> any ConnectionFamily.Type {
    arguments[foundation] ? FoundationStreams.self : OwnStreams.self
  }

  /// Refuses what the functions of CoreFoundation and Foundation have no place for.
  static func refuseOwnStreamsOptions(_ arguments: ParsedArguments, besides flag: Flag) throws(UsageError) {
    typealias Security = SecurityOptions
    let own = [resolve.spec, transport.spec, Security.startTLS.spec, Security.ca.spec, Security.alpn.spec]
    for option in own where arguments.has(option) {
      throw UsageError(
        "\(option.flag) is for the library's own streams, and does not go with \(flag.spec.flag)")
    }
  }

  /// What is typed.
  static func standardInput() throws(Failure) -> ByteSource {
    do {
      return try ByteSource(file: "-", suffix: [])
    } catch {
      throw error.failure("standard input", during: .read)
    }
  }

  /// What `--text` or `--file` say is to be sent; `nil` if neither is given.
  /// - Throws: `UsageError` for both, `Failure` for a file that cannot be read.
  static func source(
    _ arguments: ParsedArguments, _ text: Option<String>, _ file: Option<String>, suffix: [UInt8]
  ) throws -> ByteSource? {
    if arguments[text] != nil, arguments[file] != nil {
      throw UsageError("--text and --file exclude each other")
    }
    if let text = arguments[text] { return ByteSource(Array(text.utf8), suffix: suffix) }
    guard let path = arguments[file] else { return nil }
    do {
      return try ByteSource(file: path, suffix: suffix)
    } catch {
      throw error.failure(path, during: .read)
    }
  }
}

extension OutputFailure {
  /// A file that cannot be used, as the failure of a command.
  func failure(_ path: String, during phase: Phase) -> Failure {
    switch self {
    case .readerGone: .file(Errno.brokenPipe, path, during: phase)
    case .failed(let code): .file(code, path, during: phase)
    }
  }
}
