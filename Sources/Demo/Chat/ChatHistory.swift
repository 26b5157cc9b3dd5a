// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The last lines that came. Pure.

/// The last lines of many.
struct ChatHistory: Sendable {
  private let limit: Int
  /// A ring, once it is full.
  private var ring: [String] = []
  /// Where the oldest line is, which the next takes the place of.
  private var oldest = 0

  /// Keeps at most `limit` lines, which may be 0.
  init(limit: Int) { self.limit = limit }

  mutating func add(_ line: String) {
    guard limit > 0 else { return }
    if ring.count < limit { return ring.append(line) }
    ring[oldest] = line
    oldest = (oldest + 1) % limit
  }

  /// What is kept, the oldest line first.
  var lines: [String] { Array(ring[oldest...] + ring[..<oldest]) }
}
