// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does the event for room cost, asked for once more each time?

import SocketStreams

final class EventOfRoom: Benchmark {
  static let name = "event-of-room"
  static let operation = "rearm a socket's write stream, the event, a closure"
  private let pair: StreamPair
  /// Kept open, or there would be no room.
  private let peer: StreamPair
  private let countdown: Countdown

  init() throws {
    (pair, peer) = try StreamPair.connected()
    let countdown = Countdown(try EventBase())
    self.countdown = countdown
    pair.output.schedule(on: countdown.base)
    pair.output.open()
    peer.open()
  }

  deinit {
    pair.close()
    peer.close()
  }

  func run(_ count: Int) throws {
    let countdown = self.countdown
    // A new client is told of the room at once.
    countdown.run(count) {
      pair.output.setClient(.canAcceptBytes) { output, _ in
        if countdown.isContinuing() { output.rearm() }
      }
    }
  }
}
