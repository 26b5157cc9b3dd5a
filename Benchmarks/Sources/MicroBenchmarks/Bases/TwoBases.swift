// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Two threads that an operation goes to and fro between.

import SocketStreams

/// A base that the main thread runs, and one with a thread of its own.
final class TwoBases: Sendable {
  /// Lives as long as the program: what the end of a thread takes depends on who comes first, so it is not measured.
  static let shared = Result { try TwoBases() }

  let main: EventBase
  let other: EventBase

  private init() throws {
    main = try EventBase()
    other = try EventBase.startThread(named: "other")
  }

  /// Waits until the other thread has let go of what it ran.
  func settle() { other.sync {} }
}
