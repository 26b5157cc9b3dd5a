// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does the life of a connection cost, beside its bytes?

import SocketStreams

/// `@unchecked Sendable`: everything is on the thread that runs the base.
final class OpenAndClose: Benchmark, @unchecked Sendable {
  static let name = "open-and-close"
  static let operation = "make two connected pairs, schedule and open one with clients, close both"
  private let countdown: Countdown

  init() throws { countdown = Countdown(try EventBase()) }

  func run(_ count: Int) { countdown.run(count, first: next) }

  private func next() {
    countdown.base.execute { [self] in
      guard let (pair, peer) = try? StreamPair.connected() else { return countdown.base.stop() }
      pair.input.setClient(.all) { _, _ in }
      pair.output.setClient(.all) { _, _ in }
      pair.schedule(on: countdown.base)
      pair.open()
      pair.close()
      peer.abort()
      if countdown.isContinuing() { next() }
    }
  }
}
