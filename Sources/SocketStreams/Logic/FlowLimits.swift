// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How much a write half takes over, and when it has room again. Counts only; the bytes are elsewhere.

/// The bounds of what a half keeps in memory for its client.
package struct FlowLimits: Equatable, Sendable {
  /// The most that copied writes leave queued. 0: nothing is queued, only what the kernel takes is taken.
  package var outputLimit: Int
  /// The most that may be queued at all, moved buffers included; `nil` for no such bound.
  package var outputHardLimit: Int? {
    get { hardLimit == .max ? nil : hardLimit }
    set { hardLimit = newValue ?? .max }
  }
  private var hardLimit: Int
  /// What ``outputLimit`` was at first.
  package let defaultOutputLimit: Int

  package init(outputLimit: Int = 65_536, outputHardLimit: Int? = nil) {
    self.outputLimit = outputLimit
    defaultOutputLimit = outputLimit
    hardLimit = outputHardLimit ?? .max
  }

  /// How many of `offered` bytes may join `queued` ones.
  package func room(queued: Int, offered: Int) -> Int {
    max(0, min(offered, min(outputLimit, hardLimit) - queued))
  }

  /// Whether one byte more may join `queued` ones.
  package func admitsMore(queued: Int) -> Bool { room(queued: queued, offered: 1) > 0 }

  /// Whether a moved buffer of `count` bytes may join `queued` ones, past the ordinary limit.
  package func admitsMoved(queued: Int, count: Int) -> Bool {
    count <= hardLimit - queued
  }
}
