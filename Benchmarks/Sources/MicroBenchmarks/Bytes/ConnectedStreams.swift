// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Two ends of a socket pair, on no base.

import SocketStreams

/// An open stream whose bytes come out of another one.
final class ConnectedStreams: Sendable {
  let output: WriteStream
  let input: ReadStream
  private let pair: StreamPair
  private let peer: StreamPair

  init() throws {
    (pair, peer) = try StreamPair.connected()
    (output, input) = (pair.output, peer.input)
    pair.open()
    peer.open()
  }

  deinit {
    pair.close()
    peer.close()
  }
}

/// A read found other than what was written.
struct WrongCount: Error {}
