// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a stream is in its life.

/// Where a stream is in its life. Raw values equal `CFStreamStatus`.
///
/// Corresponds to `CFStreamStatus`.
public enum StreamStatus: Int, Sendable, CaseIterable, CustomStringConvertible {
  /// Made, and never opened.
  case notOpen = 0
  /// ``SocketStream/open()`` was called and the outcome is not known yet.
  case opening = 1
  /// Ready for reading or writing.
  case open = 2
  /// A read is under way. Never seen between calls.
  case reading = 3
  /// A write is under way. Never seen between calls.
  case writing = 4
  /// A read stream has handed over its last byte.
  case atEnd = 5
  /// Closed by its owner. Final.
  case closed = 6
  /// Failed; the stream's `error` tells why. Final.
  case error = 7

  /// The name of the case, as in source code.
  public var description: String {
    switch self {
    case .notOpen: "notOpen"
    case .opening: "opening"
    case .open: "open"
    case .reading: "reading"
    case .writing: "writing"
    case .atEnd: "atEnd"
    case .closed: "closed"
    case .error: "error"
    }
  }
}
