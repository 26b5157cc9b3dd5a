// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a chat's summary tells, counted on the network's thread.

import Synchronization

/// How much was said.
final class ChatCounts: Sendable {
  private let lineCount = Atomic(0)
  private let dropCount = Atomic(0)

  /// Lines that came.
  var lines: Int { lineCount.load(ordering: .relaxed) }
  /// Clients that a server had to drop.
  var dropped: Int { dropCount.load(ordering: .relaxed) }

  func lineCame() { lineCount.add(1, ordering: .relaxed) }
  func clientWasDropped() { dropCount.add(1, ordering: .relaxed) }
}
