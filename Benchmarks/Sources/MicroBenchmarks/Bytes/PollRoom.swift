// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does it cost to ask a socket stream whether it takes bytes?

import SocketStreams

final class PollRoom: Benchmark {
  static let name = "poll-can-accept-bytes"
  static let operation = "WriteStream.canAcceptBytes of a socket, with room"
  private let streams: ConnectedStreams

  init() throws { streams = try ConnectedStreams() }

  func run(_ count: Int) throws {
    for _ in 0..<count where !streams.output.canAcceptBytes { throw WrongCount() }
  }
}
