// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What readers and writers of frames tell their owner.

/// What a ``FramedReader`` tells.
public enum FramedReadEvent: Sendable {
  /// The connection is up, if no earlier client of the stream was told so.
  case opened
  /// A read was answered: what its framing asked for, and its tag.
  case frame([UInt8], tag: Int)
  /// More bytes came for the first read: how many there are, and how many it takes in all, if that is known. Told only
  /// by a reader that was made with `reportsPartial`.
  case partial(count: Int, total: Int?, tag: Int)
  /// The first read has waited for its time limit, and what has come is not enough: since when, and how many bytes
  /// there are. Unless ``FramedReader/extendTime(by:)`` is called during this call, the read fails with `ETIMEDOUT`.
  case timeLimitPassed(tag: Int, elapsed: Duration, count: Int)
  /// A read, and each that was queued behind it, cannot be answered. What came stays in the reader: for further reads,
  /// or ``FramedReader/takeBuffered()``. When the stream is over, reads that are queued now are answered as far as bytes
  /// are left for them; then ``ended(_:)`` follows.
  case failed(StreamError, tag: Int)
  /// The last event: the peer has ended (`nil`) or the stream has failed, and no read waits. Bytes that no read asked
  /// for hold it back until they are taken or a read has failed for want of more.
  case ended(StreamError?)
}

/// What a ``FramedWriter`` tells.
public enum FramedWriteEvent: Sendable {
  /// The connection is up, if no earlier client of the stream was told so.
  case opened
  /// All of a write is with the kernel; the peer did not necessarily get it. Over a bufferevent or in memory: with that.
  case written(tag: Int)
  /// More bytes of the first write are with the kernel: how many, and how many it has in all. Told only by a writer
  /// that was made with `reportsPartial`.
  case partial(count: Int, total: Int, tag: Int)
  /// The kernel has taken nothing for the time limit of the first write: for how long, and how many of its bytes went
  /// before. Unless ``FramedWriter/extendTime(by:)`` is called during this call, the write fails with `ETIMEDOUT`.
  case timeLimitPassed(tag: Int, elapsed: Duration, count: Int)
  /// A write was not sent, or only its first `count` bytes (and what another thread was sending just then): the stream failed, the time limit passed, or the queue was
  /// full: ``StreamError/Misuse/queueFull``, which is told at once and no other write suffers from.
  case failed(StreamError, tag: Int, count: Int)
  /// The last event: everything was sent and the stream closed (`nil`), or it has failed.
  case ended(StreamError?)
}
