// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does it cost to read into a buffer that is made for the bytes?

import SocketStreams

final class ReadIntoOwnBuffer: Benchmark {
  static let name = "read-up-to-64"
  static let operation = "write 64 B to a socket pair and read(upTo:) them, on no base"
  private let streams: ConnectedStreams
  private let memory = Memory(byteCount: 64)

  init() throws { streams = try ConnectedStreams() }

  func run(_ count: Int) throws {
    for _ in 0..<count {
      try streams.output.write(UnsafeRawBufferPointer(memory.bytes))
      guard let buffer = try streams.input.read(upTo: 64), buffer.count == 64 else { throw WrongCount() }
    }
  }
}
