// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Who has bytes of a stream besides its half: what reads and writes frames. A pair that is to be secured in the middle of its
// life has to know of them.

/// Whoever takes bytes from a read stream and gives them to others later.
protocol ByteHolder: AnyObject, Sendable {
  /// How many bytes have come that nobody has taken. Called with no lock of the pair's held.
  var bufferedByteCount: Int { get }
}

/// Whoever has bytes for a write stream that it has not taken yet.
protocol ByteSupplier: AnyObject, Sendable {
  /// Has the stream, which is open, take over all of them, whatever its limit. Called with no lock of the pair's held.
  func handOver()
}
