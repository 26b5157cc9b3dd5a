// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does a timer cost that fires once?

import SocketStreams

/// `@unchecked Sendable`: everything is on the thread that runs the base.
final class TimerFires: Benchmark, @unchecked Sendable {
  static let name = "timer-fires"
  static let operation = "EventBase.schedule of no delay, until the closure runs"
  private let countdown: Countdown

  init() throws { countdown = Countdown(try EventBase()) }

  func run(_ count: Int) {
    // A timer is made on its base's thread.
    countdown.run(count) { countdown.base.execute { [self] in next() } }
  }

  private func next() {
    countdown.base.schedule(after: .zero) { [self] in
      if countdown.isContinuing() { next() }
    }
  }
}
