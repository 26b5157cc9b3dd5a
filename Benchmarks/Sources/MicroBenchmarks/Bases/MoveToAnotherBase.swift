// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does it cost to move an open stream to a base on another thread, until its first event there?

import SocketStreams

/// `@unchecked Sendable`: the stream's client is called on one base at a time.
final class MoveToAnotherBase: Benchmark, @unchecked Sendable {
  static let name = "move-to-another-base"
  static let operation = "schedule an open socket stream on another running base, 1 B, its event there"
  private let bases: TwoBases
  private let pair: StreamPair
  private let peer: StreamPair
  private let countdown: Countdown
  private let memory = Memory(byteCount: 1)

  init() throws {
    bases = try TwoBases.shared.get()
    (pair, peer) = try StreamPair.connected()
    countdown = Countdown(bases.main)
    pair.open()
    peer.open()
  }

  deinit {
    pair.close()
    peer.close()
  }

  func run(_ count: Int) throws {
    let bases = self.bases
    // Removed when done: the client holds this object.
    pair.input.setClient(.hasBytesAvailable) { [self] input, _ in
      moved(input, to: bases.main.isCurrent ? bases.other : bases.main)
    }
    pair.input.schedule(on: bases.other)
    try countdown.run(count) { try peer.output.write(UnsafeRawBufferPointer(memory.bytes)) }
    pair.input.removeClient()
    bases.settle()
  }

  private func moved(_ input: ReadStream, to next: EventBase) {
    guard (try? input.read(into: memory.bytes)) == 1, countdown.isContinuing() else { return }
    input.schedule(on: next)
    _ = try? peer.output.write(UnsafeRawBufferPointer(memory.bytes))
  }
}
