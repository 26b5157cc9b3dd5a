// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does it cost to have a closure run on another thread, its loop asleep?

import SocketStreams

/// `@unchecked Sendable`: constant, and its parts guard themselves.
final class ExecuteFromAnotherThread: Benchmark, @unchecked Sendable {
  static let name = "execute-from-another-thread"
  static let operation = "EventBase.execute on another base that waits, until the closure runs"
  private let bases: TwoBases
  private let countdown: Countdown

  init() throws {
    bases = try TwoBases.shared.get()
    countdown = Countdown(bases.main)
  }

  func run(_ count: Int) {
    countdown.run(count) { hop(to: bases.other, from: bases.main) }
    bases.settle()
  }

  private func hop(to next: EventBase, from last: EventBase) {
    next.execute { [self] in
      if countdown.isContinuing() { hop(to: last, from: next) }
    }
  }
}
