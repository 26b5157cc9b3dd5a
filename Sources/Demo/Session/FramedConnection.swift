// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A connection as the chat and `http10` use it: a pair of streams, read and written in frames.

import SocketStreams

/// One connection. Used on its loop's thread.
final class FramedConnection: Sendable {
  let pair: StreamPair
  let reader: FramedReader
  let writer: FramedWriter

  /// Makes a connection of `pair`, which is to be opened. The handlers are called on the loop's thread until
  /// ``close(abruptly:)``.
  init(
    _ pair: StreamPair, on base: EventBase, read: @escaping @Sendable (FramedReadEvent) -> Void,
    write: @escaping @Sendable (FramedWriteEvent) -> Void
  ) {
    self.pair = pair
    reader = FramedReader(pair.input, on: base) { _, event in read(event) }
    writer = FramedWriter(pair.output, on: base) { _, event in write(event) }
  }

  /// Closes both halves; `abruptly` without sending what waits. Nothing is told any more.
  func close(abruptly: Bool) {
    // First: a pair that is closed already goes on to send what the kernel has.
    if abruptly { pair.abort() }
    reader.close()
    writer.close()
  }
}

extension TaskOutcome {
  /// Counts what went over a connection.
  mutating func count(_ connection: FramedConnection) {
    received += Int(connection.pair.input.property(.bytesRead) ?? 0)
    sent += Int(connection.pair.output.property(.bytesWritten) ?? 0)
  }
}
