// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does it cost to take a client away? Less what it costs to set one, which is there to be taken away.

import SocketStreams

final class RemoveClient: Benchmark {
  static let name = "remove-client"
  static let operation = "set an open stream's client, a closure, and remove it"
  private let stream: OpenStream
  private let object = Memory(byteCount: 1)

  init() throws { stream = try OpenStream() }

  func run(_ count: Int) {
    let object = self.object
    stream.run(count) { input in
      input.setClient(.all) { _, _ in withExtendedLifetime(object) {} }
      input.removeClient()
    }
  }
}
