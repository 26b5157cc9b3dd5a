// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The echo as a C program would write it: callbacks with an info pointer.

import SocketStreams

/// One connection. Lives as long as a stream's client context retains it.
final class EchoByCallbacks {
  private let input: ReadStream
  private let output: WriteStream
  private let loop: EchoLoop
  /// What the output did not take. Meanwhile the output has a client, and nothing is read.
  private var rest: [UInt8] = []
  private var hasEnded = false

  init(_ pair: StreamPair, on loop: EchoLoop) {
    (input, output) = (pair.input, pair.output)
    self.loop = loop
  }

  func start() {
    input.setClient(
      [.hasBytesAvailable, .endEncountered, .errorOccurred],
      callback: { _, event, info in
        Unmanaged<EchoByCallbacks>.fromOpaque(info!)._withUnsafeGuaranteedRef { $0.inputEvent(event) }
      }, context: context)
    for stream in [input, output] {
      stream.schedule(on: loop.base)
      stream.open()
    }
  }

  private var context: StreamClientContext {
    var context = StreamClientContext(info: Unmanaged.passUnretained(self).toOpaque())
    context.retain = { info in
      UnsafeMutableRawPointer(Unmanaged<EchoByCallbacks>.fromOpaque(info!).retain().toOpaque())
    }
    context.release = { info in Unmanaged<EchoByCallbacks>.fromOpaque(info!).release() }
    return context
  }

  private func inputEvent(_ event: StreamEvent.RawValue) {
    if event == StreamEvent.hasBytesAvailable.rawValue { return echo() }
    hasEnded = true
    if rest.isEmpty || event == StreamEvent.errorOccurred.rawValue { close() }
  }

  private func echo() {
    guard rest.isEmpty, let count = try? input.read(into: loop.buffer), count > 0 else { return }
    let bytes = UnsafeRawBufferPointer(rebasing: loop.buffer[..<count])
    let taken = (try? output.write(bytes)) ?? 0
    guard taken < count else { return }
    rest = Array(bytes[taken...])
    output.setClient(
      .canAcceptBytes,
      callback: { _, _, info in
        Unmanaged<EchoByCallbacks>.fromOpaque(info!)._withUnsafeGuaranteedRef { $0.writeRest() }
      }, context: context)
  }

  private func writeRest() {
    let taken = (try? output.write(rest)) ?? 0
    rest.removeFirst(taken)
    guard rest.isEmpty else { return }
    output.removeClient()
    if hasEnded { close() } else { echo() }
  }

  private func close() {
    input.close()
    output.close()
    loop.connectionEnded()
  }
}
