// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

/// What the command line asks for.
struct EchoOptions {
  /// How connections are read and written.
  enum API: String {
    case callbacks, closures, lending, bufferevent
  }

  private(set) var api = API.callbacks
  /// Whether to serve until SIGTERM, rather than one connection.
  private(set) var stays = false
  /// One loop runs on the main thread; more have a thread each.
  private(set) var loops = 1
  /// Whether each loop listens for itself on one port, rather than that one listener hands connections round.
  private(set) var sharesPort = false

  static let usage = """
    usage: EchoServer [callbacks | closures | lending | bufferevent]
                      [--loops N] [--share handover | reuseport] [--stay]
    bufferevent has one loop

    """

  init?(_ arguments: some Sequence<String>) {
    var rest = arguments.makeIterator()
    while let argument = rest.next() {
      switch argument {
      case "--stay": stays = true
      case "--loops":
        guard let count = rest.next().flatMap({ Int($0) }), (1...1024).contains(count) else { return nil }
        loops = count
      case "--share":
        switch rest.next() {
        case "handover": sharesPort = false
        case "reuseport": sharesPort = true
        default: return nil
        }
      default:
        guard let api = API(rawValue: argument) else { return nil }
        self.api = api
      }
    }
    if api == .bufferevent, loops > 1 { return nil }
  }
}
