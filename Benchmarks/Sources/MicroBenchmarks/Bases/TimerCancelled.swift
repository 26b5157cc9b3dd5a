// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does a timer cost that is cancelled before it fires, as most time limits are?

import SocketStreams

final class TimerCancelled: Benchmark {
  static let name = "timer-cancelled"
  static let operation = "EventBase.schedule of an hour, and cancel"
  private let base: EventBase

  init() throws { base = try EventBase() }

  func run(_ count: Int) {
    let base = self.base
    base.sync {
      for _ in 0..<count { base.schedule(after: .seconds(3600)) {}.cancel() }
    }
  }
}
