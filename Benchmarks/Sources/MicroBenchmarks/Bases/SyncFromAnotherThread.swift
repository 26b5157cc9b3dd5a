// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does it cost to have a closure run on another thread, and to wait for it?

import SocketStreams

final class SyncFromAnotherThread: Benchmark {
  static let name = "sync-from-another-thread"
  static let operation = "EventBase.sync on another base that waits"
  private let bases: TwoBases
  private let count = Memory(byteCount: 8)

  init() throws { bases = try TwoBases.shared.get() }

  func run(_ count: Int) {
    let memory = self.count
    for _ in 0..<count {
      bases.other.sync { memory.bytes[0] &+= 1 }
    }
  }
}
