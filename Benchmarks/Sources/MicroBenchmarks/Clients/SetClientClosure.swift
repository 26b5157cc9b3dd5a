// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does it cost to set a client that is a closure?

import SocketStreams

final class SetClientClosure: Benchmark {
  static let name = "set-client-closure"
  static let operation = "replace an open stream's client by another closure"
  private let stream: OpenStream
  /// What the closures capture.
  private let object = Memory(byteCount: 1)

  init() throws { stream = try OpenStream() }

  func run(_ count: Int) {
    let object = self.object
    stream.run(count) { input in
      input.setClient(.all) { _, _ in withExtendedLifetime(object) {} }
    }
  }
}
