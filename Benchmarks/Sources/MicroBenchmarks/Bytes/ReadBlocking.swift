// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does the blocking use cost, when there is nothing to wait for?

import SocketStreams

final class ReadBlocking: Benchmark {
  static let name = "read-blocking-64"
  static let operation = "write 64 B to a socket pair, wait until they can be read, read them"
  private let streams: ConnectedStreams
  private let memory = Memory(byteCount: 64)

  init() throws { streams = try ConnectedStreams() }

  func run(_ count: Int) throws {
    for _ in 0..<count {
      try streams.output.write(UnsafeRawBufferPointer(memory.bytes))
      guard streams.input.waitUntilReady(), try streams.input.read(into: memory.bytes) == 64 else {
        throw WrongCount()
      }
    }
  }
}
