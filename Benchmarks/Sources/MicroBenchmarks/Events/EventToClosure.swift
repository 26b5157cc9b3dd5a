// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does an event cost whose client is a closure?

import SocketStreams

final class EventToClosure: Benchmark {
  static let name = "event-to-closure"
  static let operation = "write 1 B into a bound pair, the event, a closure that reads"
  private let pair = StreamPair.bound()
  private let loop: ByteLoop

  init() throws {
    let loop = ByteLoop(pair.output, on: try EventBase())
    self.loop = loop
    pair.input.setClient(.hasBytesAvailable) { input, _ in loop.hasBytesAvailable(input) }
    pair.schedule(on: loop.base)
    pair.open()
  }

  deinit { pair.close() }

  func run(_ count: Int) throws { try loop.run(count) }
}
