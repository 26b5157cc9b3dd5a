// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What one attempt to move bytes came to.

/// What one non-blocking attempt to move bytes came to.
package enum IOResult: Equatable, Sendable {
  /// So many bytes were moved.
  case bytes(Int)
  /// Nothing can be moved at this moment.
  case wouldBlock
  /// The peer sends no more. Never the outcome of sending.
  case end
  /// The call failed with this `errno`.
  case failed(Int32)
}
