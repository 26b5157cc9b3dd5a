// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What do a write and a read over a socket cost, beside what the kernel takes?

import SocketStreams

final class WriteAndReadOneByte: Benchmark {
  static let name = "write-and-read-1"
  static let operation = "write 1 B to a socket pair and read it, on no base"
  private let messages: Messages

  init() throws { messages = try Messages(byteCount: 1) }

  func run(_ count: Int) throws { try messages.run(count) }
}

final class WriteAndRead64Bytes: Benchmark {
  static let name = "write-and-read-64"
  static let operation = "write 64 B to a socket pair and read them, on no base"
  private let messages: Messages

  init() throws { messages = try Messages(byteCount: 64) }

  func run(_ count: Int) throws { try messages.run(count) }
}

private final class Messages {
  private let streams: ConnectedStreams
  private let memory: Memory

  init(byteCount: Int) throws {
    streams = try ConnectedStreams()
    memory = Memory(byteCount: byteCount)
  }

  func run(_ count: Int) throws {
    for _ in 0..<count {
      try streams.output.write(UnsafeRawBufferPointer(memory.bytes))
      guard try streams.input.read(into: memory.bytes) == memory.bytes.count else { throw WrongCount() }
    }
  }
}
