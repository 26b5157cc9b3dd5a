// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The stream of bytes going out: its client, its writes, its end, its blocking use.

/// Bytes going out.
///
/// Corresponds to `CFWriteStreamRef`.
public final class WriteStream: SocketStream, @unchecked Sendable {
  let writer: WriteHalf
  override var half: StreamHalf { writer }

  init(_ half: WriteHalf) { writer = half }

  deinit { writer.close(isDropped: true) }

  /// Sends what was accepted, then ends this direction, so that the peer sees the end (half-close). The read stream
  /// stays open. Cannot fail and never blocks; no event is delivered afterwards.
  ///
  /// Bytes that are still queued are sent in the background, for as long as the peer takes some within
  /// ``StreamProperty/lingerTimeout``. See ``SocketStream/abort()`` for the other way. A native socket that was lent
  /// is not shut down. A stream that was never opened stays as it is.
  ///
  /// Corresponds to `CFWriteStreamClose`.
  public func close() { half.close(isDropped: false) }

  /// Sets the one client, and tells it what is already true: opening completed if nobody was told, room for bytes,
  /// the terminal event if nobody was told. `handler` is called on the thread of the base, from a later pass on.
  ///
  /// The registration, and with it what `handler` captures, ends by another `setClient`, by
  /// ``SocketStream/removeClient()``, by `close`, after the terminal event, or with the stream. An empty set of events
  /// removes the client.
  /// - Returns: Always `true`, as in CF.
  ///
  /// Corresponds to `CFWriteStreamSetClient`.
  @discardableResult
  public func setClient(
    _ events: StreamEvents, handler: sending @escaping (_ stream: WriteStream, _ event: StreamEvent) -> Void
  ) -> Bool {
    half.setClient(events, events.isEmpty ? nil : WriteHandler(handler), self)
    return true
  }

  /// Sets the one C client. The new context is retained before the old one is released. No events, a `nil` callback or
  /// a `nil` context each remove the client.
  /// - Returns: Always `true`, as in CF.
  ///
  /// Corresponds to `CFWriteStreamSetClient`.
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
  public static func fromOpaque(_ stream: OpaquePointer) -> WriteStream {
    unsafe OpaqueStream.take(stream, as: WriteStream.self)
  }

  // MARK: - Writing

  /// Whether a write of one byte would be taken. `false` before open and after close. Never blocks.
  ///
  /// Corresponds to `CFWriteStreamCanAcceptBytes`.
  public var canAcceptBytes: Bool { writer.canAcceptBytes }

  /// Takes over as many of `bytes` as fit: what the kernel takes at once, and a queue of
  /// ``StreamProperty/outputLimit`` bytes for the rest. Allowed while the stream is opening.
  ///
  /// What was taken is sent in order, also after `close`; it was not necessarily received by the peer.
  /// - Returns: How many, 1 or more; `nil` when nothing fits: wait for ``StreamEvent/canAcceptBytes``; 0 for no bytes,
  ///   which asks for that event once more.
  /// - Throws: The failure of the stream; `notOpen` before open and after close. Never raises `SIGPIPE`.
  ///
  /// Corresponds to `CFWriteStreamWrite`, which blocks; see ``waitUntilReady(timeout:)``.
  @discardableResult
  public func write(_ bytes: borrowing RawSpan) throws(StreamError) -> Int? {
    try writer.write(copy bytes, for: self)
  }

  /// As ``write(_:)-(RawSpan)``.
  @discardableResult
  public func write(_ bytes: [UInt8]) throws(StreamError) -> Int? {
    try unsafe writer.write(bytes.span.bytes, for: self)
  }

  /// As ``write(_:)-(RawSpan)``, from raw memory.
  @discardableResult
  @unsafe
  public func write(_ memory: UnsafeRawBufferPointer) throws(StreamError) -> Int? {
    try unsafe writer.write(memory.bytes, for: self)
  }

  /// Takes over all of `buffer` without copying it, whatever the limit of the queue.
  /// - Throws: `queueFull` if ``StreamProperty/outputHardLimit`` forbids it; else as ``write(_:)-(RawSpan)``. The
  ///   buffer is gone either way.
  public func write(moving buffer: consuming StreamBuffer) throws(StreamError) {
    try writer.write(moving: buffer, for: self)
  }

  /// Asks for ``StreamEvent/canAcceptBytes`` once more without writing.
  public func rearm() { writer.rearm(self) }

  /// Blocks the calling thread until a write would not return `nil`. Needs no base; calls no client.
  /// - Returns: `false` if `timeout` passes first; `true` also after a failure or a close.
  public func waitUntilReady(timeout: Duration? = nil) -> Bool { writer.waitUntilReady(timeout: timeout) }

  /// Blocks the calling thread until everything accepted is with the kernel. Needs no base; calls no client. Of a
  /// stream that was closed, which sends by itself, it does not wait for the rest.
  /// - Returns: `false` if `timeout` passes first.
  /// - Throws: The failure of the stream.
  @discardableResult
  public func flush(timeout: Duration? = nil) throws(StreamError) -> Bool {
    try writer.flush(timeout: timeout)
  }
}
