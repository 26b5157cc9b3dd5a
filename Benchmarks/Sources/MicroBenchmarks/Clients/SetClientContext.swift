// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does it cost to set a C client whose context is retained and released?

import SocketStreams

final class SetClientContext: Benchmark {
  static let name = "set-client-context"
  static let operation = "replace an open stream's client by a C function with a retained context"
  private let stream: OpenStream
  private let object = Memory(byteCount: 1)

  init() throws { stream = try OpenStream() }

  func run(_ count: Int) {
    let object = self.object
    stream.run(count) { input in
      var context = StreamClientContext(info: Unmanaged.passUnretained(object).toOpaque())
      context.retain = { info in
        UnsafeMutableRawPointer(Unmanaged<Memory>.fromOpaque(info!).retain().toOpaque())
      }
      context.release = { info in Unmanaged<Memory>.fromOpaque(info!).release() }
      input.setClient(.all, callback: { _, _, _ in }, context: context)
    }
  }
}
