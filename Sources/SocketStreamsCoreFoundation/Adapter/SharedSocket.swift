// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the two streams of a CoreFoundation pair have in common, besides the connection.

import SocketStreams

/// When the socket is shut down: by default with the second close, as on Apple's platforms, where closing the write stream
/// alone tells the peer nothing. The core's own streams tell the end with the close of the write stream.
///
/// `@unchecked Sendable`: what changes is guarded by `lock`.
final class SharedSocket: @unchecked Sendable {
  private let lock = Lock()
  private let isHalfByDefault: Bool
  private var isHalf: Bool
  private var isWriterDone = false
  private var isReaderDone: Bool
  private var heldOutput: WriteStream?
  /// Those that are not closed yet.
  private var reader: StreamAdapter?
  private var writer: StreamAdapter?

  /// - Parameters:
  ///   - hasReader: Whether there is a read stream that may still be closed.
  ///   - closesHalf: What ``closesHalf`` is at first.
  init(hasReader: Bool, closesHalf: Bool) {
    isHalfByDefault = closesHalf
    isHalf = closesHalf
    isReaderDone = !hasReader
  }

  /// The streams that have come to be.
  func made(_ adapter: ReadStreamAdapter) { lock.withLock { reader = adapter } }
  func made(_ adapter: WriteStreamAdapter) { lock.withLock { writer = adapter } }

  /// What the clients of both streams were told of bytes and room does not hold any more.
  func dataIsOwedAgain() {
    let (reader, writer) = lock.withLock { (self.reader, self.writer) }
    reader?.dataIsOwedAgain()
    writer?.dataIsOwedAgain()
  }

  /// Whether closing the write stream tells the peer the end.
  var closesHalf: Bool { lock.withLock { isHalf } }

  /// - Returns: Whether the write stream has still to be closed.
  func setClosesHalf(_ isOn: Bool?) -> Bool {
    lock.withLock {
      if isWriterDone { return false }
      isHalf = isOn ?? isHalfByDefault
      return true
    }
  }

  /// The write stream was closed or dropped.
  func close(_ output: WriteStream) {
    let (isDue, closed) = lock.withLock { () -> (Bool, StreamAdapter?) in
      isWriterDone = true
      defer { writer = nil }
      if isHalf || isReaderDone { return (true, writer) }
      heldOutput = output
      return (false, writer)
    }
    // Its end may call back into this object.
    defer { withExtendedLifetime(closed) {} }
    if isDue { return output.close() }
    output.removeClient()
    // Nothing is written any more. A thread that waits for room finds some, and then the close.
    output.setProperty(.outputLimit, to: .max)
  }

  /// The read stream was closed or dropped.
  func close(_ input: ReadStream) {
    let (output, closed) = lock.withLock { () -> (WriteStream?, StreamAdapter?) in
      isReaderDone = true
      defer { (heldOutput, reader) = (nil, nil) }
      return (heldOutput, reader)
    }
    input.close()
    output?.close()
    withExtendedLifetime(closed) {}
  }
}
