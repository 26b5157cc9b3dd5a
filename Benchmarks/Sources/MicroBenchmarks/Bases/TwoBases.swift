// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Two threads that an operation goes to and fro between.

import SocketStreams

/// A base that the main thread runs, and one with a thread of its own, which ends with this object.
final class TwoBases: Sendable {
  let main: EventBase
  let other: EventBase

  init() throws {
    main = try EventBase()
    other = try EventBase.startThread(named: "other")
  }

  deinit {
    other.stop()
    other.join()
  }
}
