// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What an engine's secured bytes come from and go to in tests, and in Tests/Fuzz: an array.
#if TLS

import SocketStreams

/// One end of a wire.
final class TestWire: SecurityWire, @unchecked Sendable {
  /// What has arrived, of which the first `position` bytes were taken.
  private var arrived: [UInt8] = []
  private var position = 0
  /// What was sent and not passed on yet.
  var sent: [UInt8] = []
  /// What comes after the last byte.
  var isEnded = false
  var failure: Int32?
  /// How often the engine asked for bytes.
  private(set) var reads = 0

  func receiveSecured(into buffer: inout MutableRawSpan) -> IOResult {
    reads += 1
    let count = min(buffer.byteCount, arrived.count - position)
    if count == 0 { return failure.map { .failed($0) } ?? (isEnded ? .end : .wouldBlock) }
    buffer.withUnsafeMutableBytes { memory in
      arrived.withUnsafeBytes { memory.copyMemory(from: .init(rebasing: $0[position..<position + count])) }
    }
    position += count
    return .bytes(count)
  }

  func sendSecured(_ bytes: RawSpan) { bytes.withUnsafeBytes { sent += $0 } }

  func arrive(_ bytes: some Collection<UInt8>) {
    if position == arrived.count {
      arrived.removeAll(keepingCapacity: true)
      position = 0
    }
    arrived += bytes
  }

  /// Passes on the oldest of what was sent.
  /// - Returns: Whether there was any.
  @discardableResult
  func pass(to other: TestWire, atMost limit: Int = .max) -> Bool {
    guard !sent.isEmpty else { return false }
    other.arrive(sent.prefix(limit))
    sent.removeFirst(min(limit, sent.count))
    return true
  }
}

#endif
