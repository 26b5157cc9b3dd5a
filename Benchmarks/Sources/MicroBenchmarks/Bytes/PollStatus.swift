// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does it cost to ask for a stream's status?

import SocketStreams

final class PollStatus: Benchmark {
  static let name = "poll-status"
  static let operation = "SocketStream.status"
  private let streams: ConnectedStreams

  init() throws { streams = try ConnectedStreams() }

  func run(_ count: Int) throws {
    for _ in 0..<count where streams.input.status != .open { throw WrongCount() }
  }
}
