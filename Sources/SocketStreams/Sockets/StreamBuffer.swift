// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A piece of memory with bytes in it, owned by one place at a time. What makes moved reads and writes free of copies.

internal import Glibc

/// Bytes that move from owner to owner without being copied.
@safe
public struct StreamBuffer: ~Copyable, Sendable {
  // Owned alone and never shared: a copy cannot be made, so no two threads meet here.
  @usableFromInline nonisolated(unsafe) var memory: UnsafeMutableRawPointer?
  @usableFromInline var start = 0
  /// How many bytes the buffer holds.
  public internal(set) var count = 0
  /// How many bytes fit, from the first one on.
  package private(set) var capacity: Int

  /// Makes an empty buffer with room for `capacity` bytes.
  package init(capacity: Int) {
    precondition(capacity > 0, "a buffer has room for at least one byte")
    guard let memory = unsafe malloc(capacity) else { fatalError("out of memory for \(capacity) bytes") }
    unsafe self.memory = memory
    self.capacity = capacity
  }

  /// Makes a buffer with a copy of `bytes`.
  public init(copying bytes: RawSpan) {
    self.init(capacity: max(bytes.byteCount, 1))
    append(bytes)
  }

  /// Makes a buffer with a copy of `bytes`.
  public init(_ bytes: [UInt8]) { unsafe self.init(copying: bytes.span.bytes) }

  deinit { unsafe free(memory) }

  /// Shows the bytes. The span is valid during `body`.
  @inlinable
  public func withBytes<R: ~Copyable, E: Error>(_ body: (_ bytes: RawSpan) throws(E) -> R) throws(E) -> R {
    try unsafe body(RawSpan(_unsafeStart: memory! + start, byteCount: count))  // not nil until given away
  }

  /// Adds a copy of `bytes`, growing if it must.
  package mutating func append(_ bytes: RawSpan) {
    reserve(bytes.byteCount)
    unsafe bytes.withUnsafeBytes { source in
      guard let base = source.baseAddress else { return }
      unsafe (memory! + start + count).copyMemory(from: base, byteCount: source.count)
    }
    count += bytes.byteCount
  }

  /// Makes room for `additional` more bytes behind those that are there.
  package mutating func reserve(_ additional: Int) {
    if start + count + additional <= capacity { return }
    if count + additional <= capacity {
      unsafe memory!.copyMemory(from: memory! + start, byteCount: count)
    } else {
      let larger = max(count + additional, capacity * 2)
      guard let fresh = unsafe malloc(larger) else { fatalError("out of memory for \(larger) bytes") }
      unsafe fresh.copyMemory(from: memory! + start, byteCount: count)
      unsafe free(memory)
      unsafe memory = fresh
      capacity = larger
    }
    start = 0
  }

  /// Lets `fill` write into the room behind the bytes, at most `limit` of it; what it reports as `.bytes` joins them.
  package mutating func append(
    atMost limit: Int = .max, _ fill: (_ space: inout MutableRawSpan) -> IOResult
  ) -> IOResult {
    let room = min(capacity - start - count, limit)
    guard room > 0 else { return .wouldBlock }
    var space = unsafe MutableRawSpan(_unsafeStart: memory! + start + count, byteCount: room)
    let result = fill(&space)
    if case .bytes(let added) = result { count += added }
    return result
  }

  /// Forgets the first `bytes` bytes.
  package mutating func dropFirst(_ bytes: Int) {
    start += bytes
    count -= bytes
    if count == 0 { start = 0 }
  }

  /// Copies the first bytes out, as many as fit, and forgets them.
  package mutating func moveFirst(
    into target: inout MutableRawSpan, atMost limit: Int = .max
  ) -> Int {
    let moved = min(count, min(target.byteCount, limit))
    unsafe target.withUnsafeMutableBytes { space in
      guard moved > 0, let base = space.baseAddress else { return }
      unsafe base.copyMemory(from: memory! + start, byteCount: moved)
    }
    dropFirst(moved)
    return moved
  }

  /// Gives the memory away: `free` it. The bytes are `count` from `offset` on.
  @unsafe
  package consuming func giveAway() -> (memory: UnsafeMutableRawPointer, offset: Int, count: Int) {
    let given = unsafe (memory: memory!, offset: start, count: count)
    unsafe memory = nil  // deinit frees nothing then
    return unsafe given
  }
}
