// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A chain of byte buffers that is not tied to any loop: whoever owns it guards it with a lock of its own.
internal import CLibEvent
internal import Glibc

/// libevent's `evbuffer`: a queue of bytes in chunks.
@safe
struct Evbuffer: ~Copyable {
  let pointer: OpaquePointer

  init() {
    guard let made = unsafe evbuffer_new() else { fatalError("make a buffer: out of memory") }
    unsafe pointer = made
  }

  deinit { unsafe evbuffer_free(pointer) }

  /// How many bytes are in it.
  var count: Int { unsafe evbuffer_get_length(pointer) }

  /// Adds a copy of `bytes` at the end.
  mutating func append(_ bytes: RawSpan) {
    let code = unsafe bytes.withUnsafeBytes { unsafe evbuffer_add(pointer, $0.baseAddress, $0.count) }
    if code != 0 { fatalError("queue bytes: out of memory") }
  }

  /// Adds `count` bytes of `memory` from `offset` on, without copying. `memory` came from `malloc` and is
  /// freed when the last of them has been removed, on whatever thread that happens.
  @unsafe
  mutating func append(taking memory: UnsafeMutableRawPointer, offset: Int, count: Int) {
    guard count > 0 else { return unsafe free(memory) }
    let code = unsafe evbuffer_add_reference(pointer, memory + offset, count, freeTrampoline, memory)
    if code != 0 { fatalError("queue bytes: out of memory") }
  }

  /// Adds a whole buffer at the end, without copying.
  mutating func append(taking buffer: consuming StreamBuffer) {
    let (memory, offset, count) = unsafe buffer.giveAway()
    unsafe append(taking: memory, offset: offset, count: count)
  }

  /// Sends the first bytes, at most `limit` and at most 16 chunks in one system call, and removes what the
  /// kernel took. Raises no signal.
  mutating func send(to fd: Int32, atMost limit: Int) -> IOResult {
    let wanted = min(limit, count)
    guard wanted > 0 else { return .bytes(0) }
    let result = unsafe withUnsafeTemporaryAllocation(of: iovec.self, capacity: 16) { chunks in
      unsafe sendChunks(chunks, wanted, to: fd)
    }
    if case .bytes(let sent) = result { remove(sent) }
    return result
  }

  private func sendChunks(
    _ chunks: UnsafeMutableBufferPointer<iovec>, _ wanted: Int, to fd: Int32
  ) -> IOResult {
    let used = unsafe evbuffer_peek(pointer, wanted, nil, chunks.baseAddress, Int32(chunks.count))
    // 2.1.12: evbuffer_peek returns how many chunks it would take, which may be more than there was room for,
    // and does not cut the last one.
    let filled = min(Int(used), chunks.count)
    var left = wanted
    for index in 0..<filled {
      unsafe chunks[index].iov_len = min(unsafe chunks[index].iov_len, left)
      unsafe left -= chunks[index].iov_len
    }
    var message = unsafe msghdr()
    unsafe message.msg_iov = chunks.baseAddress
    unsafe message.msg_iovlen = filled
    while true {
      let sent = unsafe sendmsg(fd, &message, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      if sent >= 0 { return .bytes(sent) }
      switch errno {
      case EINTR: continue
      case EAGAIN: return .wouldBlock
      case let code: return .failed(code)
      }
    }
  }

  /// Moves the first bytes into `buffer`.
  /// - Returns: How many.
  mutating func remove(into buffer: inout MutableRawSpan) -> Int {
    unsafe buffer.withUnsafeMutableBytes { memory in
      guard let start = memory.baseAddress else { return 0 }
      return Int(unsafe evbuffer_remove(pointer, start, memory.count))
    }
  }

  /// Removes the first `count` bytes, or all if there are fewer.
  mutating func remove(_ count: Int) { _ = unsafe evbuffer_drain(pointer, count) }

  /// Lends the first run of bytes, made at least `minimum` long (or as long as there are bytes) by copying if
  /// need be.
  func withFirstRun<R, E: Error>(atLeast minimum: Int, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    // At least 1, as asking for 0 answers nil even if there are bytes (2.1.12).
    let minimum = min(max(1, minimum), count)
    let start = unsafe evbuffer_pullup(pointer, minimum)
    if unsafe start == nil && minimum > 0 { fatalError("join bytes: out of memory") }
    let length = unsafe start == nil ? 0 : evbuffer_get_contiguous_space(pointer)
    let memory = unsafe UnsafeRawBufferPointer(start: start, count: length)
    return try unsafe body(memory.bytes)
  }

  /// Moves everything from `other` to the end, without copying.
  mutating func moveAll(from other: inout Evbuffer) { _ = unsafe evbuffer_add_buffer(pointer, other.pointer) }
}

private func freeTrampoline(_ data: UnsafeRawPointer?, _ count: Int, _ memory: UnsafeMutableRawPointer?) {
  unsafe free(memory)
}
