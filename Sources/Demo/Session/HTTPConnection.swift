// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A connection as `http10` uses it: a pair of streams, read and written in frames.

import SocketStreams

/// One connection. Used on its loop's thread.
final class HTTPConnection: Sendable {
  let pair: StreamPair
  let reader: FramedReader
  let writer: FramedWriter

  /// Makes a connection and begins to open it. The clients are called on the loop's thread until ``close(abruptly:)``.
  init(
    _ pair: StreamPair, on base: EventBase, read: @escaping @Sendable (FramedReadEvent) -> Void,
    write: @escaping @Sendable (FramedWriteEvent) -> Void
  ) {
    self.pair = pair
    reader = FramedReader(pair.input, on: base) { _, event in read(event) }
    writer = FramedWriter(pair.output, on: base) { _, event in write(event) }
    pair.open()
  }

  /// Closes both halves; `abruptly` without sending what waits. Nothing is told any more.
  func close(abruptly: Bool) {
    if abruptly { pair.abort() }
    reader.close()
    writer.close()
  }
}
