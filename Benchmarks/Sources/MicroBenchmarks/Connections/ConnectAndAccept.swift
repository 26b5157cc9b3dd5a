// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does a connection over TCP cost, both ends of it, from the call to its end?

import SocketStreams

/// `@unchecked Sendable`: everything is on the thread that runs the base.
final class ConnectAndAccept: Benchmark, @unchecked Sendable {
  static let name = "connect-and-accept"
  static let operation = "connect to a listener on 127.0.0.1 that closes, on one base, until the end is told"
  private let listener: Listener
  private let countdown: Countdown
  private var current: StreamPair?

  init() throws {
    listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    countdown = Countdown(try EventBase())
    listener.schedule(on: countdown.base) { pair, _ in
      pair.open()
      pair.close()
    }
  }

  func run(_ count: Int) {
    countdown.run(count, first: connect)
    current = nil
  }

  private func connect() {
    let pair = StreamPair(address: listener.localAddress)
    current = pair
    pair.input.setClient([.endEncountered, .errorOccurred]) { [self] _, event in
      pair.close()
      if event != .endEncountered { countdown.base.stop() } else if countdown.isContinuing() { connect() }
    }
    pair.schedule(on: countdown.base)
    pair.open()
  }
}
