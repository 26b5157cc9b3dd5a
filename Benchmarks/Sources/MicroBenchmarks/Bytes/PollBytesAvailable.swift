// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does it cost to ask a socket stream whether bytes are there?

import SocketStreams

final class PollBytesAvailable: Benchmark {
  static let name = "poll-has-bytes-available"
  static let operation = "ReadStream.hasBytesAvailable of a socket, with bytes"
  private let streams: ConnectedStreams

  init() throws {
    streams = try ConnectedStreams()
    try streams.output.write([1])
  }

  func run(_ count: Int) throws {
    for _ in 0..<count where !streams.input.hasBytesAvailable { throw WrongCount() }
  }
}
