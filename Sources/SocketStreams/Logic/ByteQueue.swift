// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Bytes that come in at one end and leave at the other. Each is moved a bounded number of times.

/// Bytes in the order in which they came.
package struct ByteQueue: Sendable {
  private var storage: [UInt8] = []
  private var head = 0

  package init() {}

  /// How many bytes there are.
  package var count: Int { storage.count - head }

  package var isEmpty: Bool { head == storage.count }

  /// The bytes, from the first one on.
  package var bytes: ArraySlice<UInt8> { storage[head...] }

  /// The byte at `offset` from the first.
  package subscript(_ offset: Int) -> UInt8 { storage[head + offset] }

  /// Bytes came. `expected` is how many there are going to be for all that is known: no more room than that is made.
  package mutating func append(_ bytes: some Collection<UInt8>, expected: Int = 0) {
    if head > 0, head >= count { compact() }
    let needed = storage.count + bytes.count
    if expected > storage.capacity, needed > storage.capacity {
      storage.reserveCapacity(head + min(expected, max(needed, 2 * storage.capacity)))
    }
    storage.append(contentsOf: bytes)
  }

  /// Puts bytes in front of those that are there.
  package mutating func prepend(_ bytes: [UInt8]) {
    if bytes.count <= head {
      storage.replaceSubrange(head - bytes.count..<head, with: bytes)
      head -= bytes.count
    } else {
      // With room for more of it, so that bytes that are put back one by one do not move all the others each time.
      let room = count / 8
      storage.replaceSubrange(..<head, with: repeatElement(0, count: room) + bytes)
      head = room
    }
  }

  /// Forgets the first `count` bytes.
  package mutating func drop(_ count: Int) {
    head += count
    if head == storage.count { removeAll() }
  }

  /// Takes out the first `count` bytes. All of them leave without being copied.
  package mutating func take(_ count: Int) -> [UInt8] {
    if head == 0, count == storage.count {
      var taken: [UInt8] = []
      swap(&taken, &storage)
      return taken
    }
    let taken = Array(storage[head..<head + count])
    drop(count)
    return taken
  }

  /// Where `byte` is first, from `start` on and before `end`.
  package func offset(of byte: UInt8, from start: Int, before end: Int) -> Int? {
    guard start < end else { return nil }
    return storage[head + start..<head + end].firstIndex(of: byte).map { $0 - head }
  }

  /// Whether `pattern` is at `offset`, as far as there are bytes.
  package func matches(_ pattern: [UInt8], at offset: Int) -> Bool {
    storage[(head + offset)...].starts(with: pattern.prefix(count - offset))
  }

  private mutating func compact() {
    storage.removeSubrange(..<head)
    head = 0
  }

  private mutating func removeAll() {
    // A small piece of memory is kept for what comes next.
    storage.removeAll(keepingCapacity: storage.capacity <= ByteQueue.kept)
    head = 0
  }

  private static let kept = 4_096
}
