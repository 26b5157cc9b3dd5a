// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How a body that goes from event to event knows when it is done.

import SocketStreams

/// Counts the operations that are left, and stops the base that the main thread runs after the last.
///
/// `@unchecked Sendable`: the next operation begins when the last has ended, whatever thread each is on.
final class Countdown: @unchecked Sendable {
  let base: EventBase
  private var left = 0

  init(_ base: EventBase) { self.base = base }

  /// Runs the base until `count` operations are done, the first of which `first` begins.
  func run(_ count: Int, first: () throws -> Void) rethrows {
    left = count
    try first()
    base.run()
  }

  /// Says that an operation is done.
  /// - Returns: Whether another one is to follow.
  func isContinuing() -> Bool {
    left -= 1
    if left == 0 { base.stop() }
    return left > 0
  }
}
