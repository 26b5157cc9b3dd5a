// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does it cost to put an open socket stream on a base, and to take it off, on the base's own thread?

import SocketStreams

final class ScheduleAndUnschedule: Benchmark {
  static let name = "schedule-and-unschedule"
  static let operation = "schedule an open socket stream on its base and unschedule it"
  private let stream: OpenStream

  init() throws {
    stream = try OpenStream(isScheduled: false)
    stream.input.setClient(.all) { _, _ in }
  }

  func run(_ count: Int) {
    let base = stream.base
    stream.run(count) { input in
      input.schedule(on: base)
      input.unschedule(from: base)
    }
  }
}
