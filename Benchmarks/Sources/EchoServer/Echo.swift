// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What an echo does on events. How it is told of them is in EchoByCallbacks.swift and EchoByClosures.swift.

import SocketStreams

/// One connection: reads into its loop's buffer and writes what it read. Lives as long as a client retains it.
final class Echo {
  /// What kind of client its streams have.
  enum Clients {
    case callbacks, closures
  }

  let input: ReadStream
  let output: WriteStream
  private let loop: EchoLoop
  /// What the output did not take. Meanwhile the output has a client, and nothing is read.
  private var rest: [UInt8] = []
  private var hasEnded = false
  private let clients: Clients

  init(_ pair: StreamPair, by clients: Clients, on loop: EchoLoop) {
    (input, output) = (pair.input, pair.output)
    self.clients = clients
    self.loop = loop
  }

  func start() {
    switch clients {
    case .callbacks: setInputCallback()
    case .closures: setInputClosure()
    }
    for stream in [input, output] {
      stream.schedule(on: loop.base)
      stream.open()
    }
  }

  func bytesArrived() {
    guard rest.isEmpty, let count = try? input.read(into: loop.buffer), count > 0 else { return }
    let bytes = UnsafeRawBufferPointer(rebasing: loop.buffer[..<count])
    let taken = (try? output.write(bytes)) ?? 0
    guard taken < count else { return }
    rest = Array(bytes[taken...])
    switch clients {
    case .callbacks: setOutputCallback()
    case .closures: setOutputClosure()
    }
  }

  func roomAppeared() {
    let taken = (try? output.write(rest)) ?? 0
    rest = Array(rest[taken...])
    guard rest.isEmpty else { return }
    output.removeClient()
    if hasEnded { close() } else { bytesArrived() }
  }

  func inputEnded(byFailure hasFailed: Bool) {
    hasEnded = true
    if hasFailed || rest.isEmpty { close() }
  }

  private func close() {
    input.close()
    output.close()
    loop.connectionEnded()
  }
}
