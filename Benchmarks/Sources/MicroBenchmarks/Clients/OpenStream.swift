// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// An open stream on a base, for benchmarks that call its functions on the base's own thread.

import SocketStreams

/// One end of a socket pair, open and scheduled, to which nothing is ever sent.
final class OpenStream: Sendable {
  let base: EventBase
  let input: ReadStream
  private let pair: StreamPair
  private let peer: StreamPair

  init(isScheduled: Bool = true) throws {
    base = try EventBase()
    (pair, peer) = try StreamPair.connected()
    input = pair.input
    if isScheduled { input.schedule(on: base) }
    pair.open()
    peer.open()
  }

  deinit {
    pair.close()
    peer.close()
  }

  /// Calls `body` with the stream `count` times, on the base's thread.
  func run(_ count: Int, _ body: @Sendable (ReadStream) -> Void) {
    base.sync {
      for _ in 0..<count { body(input) }
    }
  }
}
