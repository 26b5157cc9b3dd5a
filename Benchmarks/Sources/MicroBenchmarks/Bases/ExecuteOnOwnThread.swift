// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does it cost to have a closure run in the loop's next pass, asked for on the base's own thread?

import SocketStreams

/// `@unchecked Sendable`: everything is on the thread that runs the base.
final class ExecuteOnOwnThread: Benchmark, @unchecked Sendable {
  static let name = "execute-on-own-thread"
  static let operation = "EventBase.execute on the base's thread, until the closure runs"
  private let countdown: Countdown

  init() throws { countdown = Countdown(try EventBase()) }

  func run(_ count: Int) { countdown.run(count, first: hop) }

  private func hop() {
    countdown.base.execute { [self] in
      if countdown.isContinuing() { hop() }
    }
  }
}
