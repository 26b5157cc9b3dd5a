// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a round trip asks of the transport. With the direct one these are direct calls, which the compiler joins with
// what is around them; through the protocol a round trip costs a third more. The lock is held in each.

extension Endpoint {
  @inline(__always)
  func receive(into buffer: inout MutableRawSpan) -> IOResult {
    guard let direct else { return transport.receive(into: &buffer) }
    return direct.use { $0.receive(into: &buffer) }
  }

  @inline(__always)
  func send(_ bytes: RawSpan) -> IOResult {
    guard let direct else { return transport.send(bytes) }
    return direct.use { $0.send(bytes) }
  }

  /// Nothing is queued, and no write was refused since there was room: a write would be taken. `false` is no answer.
  @inline(__always)
  var isClear: Bool { direct?.use { $0.isClear } ?? false }
}
