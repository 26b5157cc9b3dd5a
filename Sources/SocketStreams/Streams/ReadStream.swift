// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The stream of bytes coming in: its client, its reads, its blocking use.

/// Bytes coming in.
///
/// Corresponds to `CFReadStreamRef`.
public final class ReadStream: SocketStream, @unchecked Sendable {
  let reader: ReadHalf
  override var half: StreamHalf { reader }

  init(_ half: ReadHalf) { reader = half }

  deinit { reader.close(isDropped: true) }

  /// Ends reading. Cannot fail and never blocks; no event is delivered afterwards, not even one that was due. Nothing
  /// is told to the peer. A stream that was never opened stays as it is, and a second close does nothing.
  ///
  /// From another thread, a callback that has begun may finish.
  ///
  /// Corresponds to `CFReadStreamClose`.
  public func close() { half.close(isDropped: false) }

  /// Sets the one client, and tells it what is already true: opening completed if nobody was told, bytes that wait,
  /// the terminal event if nobody was told. `handler` is called on the thread of the base, from a later pass on.
  ///
  /// The registration, and with it what `handler` captures, ends by another `setClient`, by
  /// ``SocketStream/removeClient()``, by `close`, after the terminal event, or with the stream. An empty set of events
  /// removes the client.
  /// - Returns: Always `true`, as in CF.
  ///
  /// Corresponds to `CFReadStreamSetClient`.
  @discardableResult
  public func setClient(
    _ events: StreamEvents, handler: sending @escaping (_ stream: ReadStream, _ event: StreamEvent) -> Void
  ) -> Bool {
    half.setClient(events, events.isEmpty ? nil : ReadHandler(handler), self)
    return true
  }

  /// Sets the one C client. The new context is retained before the old one is released. No events, a `nil` callback or
  /// a `nil` context each remove the client.
  /// - Returns: Always `true`, as in CF.
  ///
  /// Corresponds to `CFReadStreamSetClient`.
  @discardableResult
  @unsafe
  public func setClient(
    _ events: StreamEvents, callback: StreamClientCallback?, context: StreamClientContext?
  ) -> Bool {
    guard !events.isEmpty, let callback = unsafe callback, let context = unsafe context else {
      removeClient()
      return true
    }
    unsafe half.setClient(events, CallbackClient(callback, context), self)
    return true
  }

  /// The stream that a C callback was called with.
  @unsafe
  public static func fromOpaque(_ stream: OpaquePointer) -> ReadStream {
    unsafe OpaqueStream.take(stream, as: ReadStream.self)
  }

  // MARK: - Reading

  /// Whether a read would return at once: bytes are there, or an end that was not seen yet. `false` before open,
  /// after close and at the end. Never blocks and never calls a client.
  ///
  /// Corresponds to `CFReadStreamHasBytesAvailable`.
  public var hasBytesAvailable: Bool { reader.hasBytesAvailable }

  /// Whether bytes are there, and not just an end or a failure, of which the client is told at once then.
  package func findBytes() -> Bool { reader.findBytes(for: self) }

  /// Appends bytes that have arrived to `buffer`: as many as are there and fit, never waiting to fill it.
  /// - Returns: How many, 1 or more; 0 at the end, and again each time after, or for a full buffer; `nil` when none
  ///   have arrived yet, which is not an error.
  /// - Throws: The failure of the stream, after the last byte that arrived before it; `notOpen` before open and after
  ///   close; `busy` while ``withAvailableBytes(atLeast:_:)`` lends bytes.
  ///
  /// Corresponds to `CFReadStreamRead`, which blocks; see ``waitUntilReady(timeout:)``.
  @discardableResult
  public func read(into buffer: inout OutputRawSpan) throws(StreamError) -> Int? {
    try unsafe buffer.withUnsafeMutableBytes { (memory, initialized) throws(StreamError) -> Int? in
      let free = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[initialized...])
      let count = try unsafe read(into: free)
      initialized += count ?? 0
      return count
    }
  }

  /// As ``read(into:)-(OutputRawSpan)``, into raw memory from its first byte on.
  @discardableResult
  @unsafe
  public func read(into memory: UnsafeMutableRawBufferPointer) throws(StreamError) -> Int? {
    var span = unsafe memory.mutableBytes
    return try reader.read(into: &span, for: self)
  }

  /// As ``read(into:)-(OutputRawSpan)``, into memory that holds values already, from its first byte on.
  @discardableResult
  public func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Int? {
    try reader.read(into: &buffer, for: self)
  }

  /// Moves bytes that have arrived into a buffer of their own, at most `count`, which must be 1 or more.
  /// - Returns: `nil` when none have arrived yet; an empty buffer at the end.
  /// - Throws: As ``read(into:)-(OutputRawSpan)``.
  public func read(upTo count: Int) throws(StreamError) -> StreamBuffer? {
    precondition(count > 0, "a read is of at least one byte")
    var buffer = StreamBuffer(capacity: count)
    guard try reader.fill(&buffer, for: self) != nil else { return nil }
    return buffer
  }

  /// Lends the bytes that have arrived to `body`, which returns how many it used up, from the first one on. Bytes
  /// that it does not use up are lent again, with what arrives meanwhile; they are announced again when it used up
  /// some, and otherwise when more arrives.
  ///
  /// Nothing is lent, and `body` not called, when fewer than `minimum` bytes have arrived; fewer are lent only when
  /// the end or a failure is behind them. A failure shows in ``SocketStream/status``. During `body` the stream must
  /// not be read by anyone else.
  /// - Returns: How many bytes `body` used up; 0 if it was not called.
  ///
  /// Corresponds to `CFReadStreamGetBuffer`.
  @discardableResult
  @inlinable
  public func withAvailableBytes<E: Error>(
    atLeast minimum: Int = 1, _ body: (_ bytes: RawSpan) throws(E) -> Int
  ) throws(E) -> Int {
    guard let loan = lend(atLeast: minimum) else { return 0 }
    let used: Int
    do throws(E) {
      used = try loan.bytes.withBytes(body)
    } catch {
      takeBack(loan, used: 0)
      throw error
    }
    takeBack(loan, used: used)
    return used
  }

  @usableFromInline
  func lend(atLeast minimum: Int) -> Loan? { reader.lend(atLeast: minimum, for: self) }

  @usableFromInline
  func takeBack(_ loan: consuming Loan, used: Int) { reader.takeBack(loan, used: used, for: self) }

  /// Blocks the calling thread until a read would not return `nil`. Needs no base; calls no client.
  ///
  /// Not for a stream whose bytes come by way of the calling thread's own loop: a bufferevent's, or a pair in memory
  /// that is written on this thread.
  /// - Returns: `false` if `timeout` passes first; `true` also at the end, and after a failure or a close.
  public func waitUntilReady(timeout: Duration? = nil) -> Bool { reader.waitUntilReady(timeout: timeout) }
}
