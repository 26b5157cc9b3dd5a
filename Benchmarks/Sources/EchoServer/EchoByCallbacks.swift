// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The echo as a C program would write it: callbacks with an info pointer, and a buffer that both directions share.

import SocketStreams

/// One connection. Lives as long as a stream's client context retains it.
final class EchoByCallbacks {
  private let input: ReadStream
  private let output: WriteStream
  private let base: EventBase
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 64)
  /// What was read and not written yet.
  private var pending = 0..<0

  init(_ pair: StreamPair, _ base: EventBase) {
    (input, output) = (pair.input, pair.output)
    self.base = base
  }

  deinit { buffer.deallocate() }

  func start() {
    var context = StreamClientContext(info: Unmanaged.passUnretained(self).toOpaque())
    context.retain = { info in
      UnsafeMutableRawPointer(Unmanaged<EchoByCallbacks>.fromOpaque(info!).retain().toOpaque())
    }
    context.release = { info in Unmanaged<EchoByCallbacks>.fromOpaque(info!).release() }
    input.setClient(
      [.hasBytesAvailable, .endEncountered, .errorOccurred],
      callback: { _, event, info in
        Unmanaged<EchoByCallbacks>.fromOpaque(info!)._withUnsafeGuaranteedRef { $0.inputEvent(event) }
      }, context: context)
    output.setClient(
      .canAcceptBytes,
      callback: { _, _, info in
        Unmanaged<EchoByCallbacks>.fromOpaque(info!)._withUnsafeGuaranteedRef { $0.write() }
      }, context: context)
    for stream in [input, output] {
      stream.schedule(on: base)
      stream.open()
    }
  }

  private func inputEvent(_ event: StreamEvent.RawValue) {
    guard event == StreamEvent.hasBytesAvailable.rawValue else { return base.stop() }
    guard pending.isEmpty, let count = try? input.read(into: buffer) else { return }
    pending = 0..<count
    write()
  }

  private func write() {
    while !pending.isEmpty {
      guard let count = try? output.write(UnsafeRawBufferPointer(rebasing: buffer[pending])) else { return }
      pending = pending.lowerBound + count..<pending.upperBound
    }
  }
}
