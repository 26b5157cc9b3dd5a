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

  /// - Parameters:
  ///   - hasReader: Whether there is a read stream that may still be closed.
  ///   - closesHalf: What ``closesHalf`` is at first.
  init(hasReader: Bool, closesHalf: Bool) {
    isHalfByDefault = closesHalf
    isHalf = closesHalf
    isReaderDone = !hasReader
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
    let isDue = lock.withLock {
      isWriterDone = true
      if isHalf || isReaderDone { return true }
      heldOutput = output
      return false
    }
    if isDue { return output.close() }
    output.removeClient()
    // Nothing is written any more. A thread that waits for room finds some, and then the close.
    output.setProperty(.outputLimit, to: .max)
  }

  /// The read stream was closed or dropped.
  func close(_ input: ReadStream) {
    let output = lock.withLock {
      isReaderDone = true
      defer { heldOutput = nil }
      return heldOutput
    }
    input.close()
    output?.close()
  }
}
