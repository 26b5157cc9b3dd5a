// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does an event cost whose client is a C function with an info pointer?

import SocketStreams

final class EventToCallback: Benchmark {
  static let name = "event-to-callback"
  static let operation = "write 1 B into a bound pair, the event, a C function that reads"
  private let pair = StreamPair.bound()
  /// What the info pointer points to.
  private let loop: ByteLoop

  init() throws {
    loop = ByteLoop(pair.output, on: try EventBase())
    pair.input.setClient(
      .hasBytesAvailable,
      callback: { stream, _, info in
        Unmanaged<ByteLoop>.fromOpaque(info!)._withUnsafeGuaranteedRef {
          $0.hasBytesAvailable(ReadStream.fromOpaque(stream))
        }
      }, context: StreamClientContext(info: Unmanaged.passUnretained(loop).toOpaque()))
    pair.schedule(on: loop.base)
    pair.open()
  }

  deinit { pair.close() }

  func run(_ count: Int) throws { try loop.run(count) }
}
