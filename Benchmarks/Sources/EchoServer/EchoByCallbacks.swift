// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The clients of an echo as a C program would write them: callbacks with an info pointer.

import SocketStreams

extension Echo {
  func setInputCallback() {
    input.setClient(
      [.hasBytesAvailable, .endEncountered, .errorOccurred],
      callback: { _, event, info in
        Unmanaged<Echo>.fromOpaque(info!)._withUnsafeGuaranteedRef {
          if event == StreamEvent.hasBytesAvailable.rawValue { return $0.bytesArrived() }
          $0.inputEnded(byFailure: event == StreamEvent.errorOccurred.rawValue)
        }
      }, context: context)
  }

  func setOutputCallback() {
    output.setClient(
      .canAcceptBytes,
      callback: { _, _, info in
        Unmanaged<Echo>.fromOpaque(info!)._withUnsafeGuaranteedRef { $0.roomAppeared() }
      }, context: context)
  }

  private var context: StreamClientContext {
    var context = StreamClientContext(info: Unmanaged.passUnretained(self).toOpaque())
    context.retain = { info in
      UnsafeMutableRawPointer(Unmanaged<Echo>.fromOpaque(info!).retain().toOpaque())
    }
    context.release = { info in Unmanaged<Echo>.fromOpaque(info!).release() }
    return context
  }
}
