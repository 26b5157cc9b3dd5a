// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

/// What the command line asks for.
struct EchoOptions {
  /// How connections are read and written.
  enum Way: String {
    case callbacks, closures, bufferevent
  }

  var way = Way.callbacks
  /// Whether to serve until SIGTERM, rather than one connection.
  var stays = false

  static let usage = "usage: EchoServer [callbacks | closures | bufferevent] [--stay]\n"

  init?(_ arguments: some Sequence<String>) {
    for argument in arguments {
      if argument == "--stay" {
        stays = true
      } else if let way = Way(rawValue: argument) {
        self.way = way
      } else {
        return nil
      }
    }
  }
}
