// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the clients of the event benchmarks do when they are called.

import SocketStreams

/// A byte that goes round: reads it, and writes the next one, which makes the next event.
///
/// `@unchecked Sendable`: its clients are called on one base, one at a time.
final class ByteLoop: @unchecked Sendable {
  let base: EventBase
  private let output: WriteStream
  private let countdown: Countdown
  private let memory = Memory(byteCount: 1)

  init(_ output: WriteStream, on base: EventBase) {
    self.output = output
    self.base = base
    countdown = Countdown(base)
  }

  func run(_ count: Int) throws { try countdown.run(count, first: send) }

  func hasBytesAvailable(_ input: ReadStream) {
    guard (try? input.read(into: memory.bytes)) == 1, countdown.isContinuing() else { return base.stop() }
    try? send()
  }

  private func send() throws { try output.write(UnsafeRawBufferPointer(memory.bytes)) }
}
