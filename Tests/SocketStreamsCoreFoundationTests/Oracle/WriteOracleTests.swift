// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// CoreFoundation as the oracle of write streams: the same script through plain callbacks and through ours.

import CoreFoundation
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct WriteOracleTests {
  private enum Step {
    case write(Int), drain(Int), turn, ask, close, unschedule, schedule, removeClient, setClient
  }

  private static let size = 16

  /// A script whose client is away only while nothing happens and nothing is due.
  private static func script(_ seed: UInt64) -> [Step] {
    var random = SeededGenerator(seed: seed)
    var steps: [Step] = [.turn, .ask]
    var waiting = 0
    while steps.count < 40 {
      switch random.below(10) {
      case 0...2 where waiting < size:
        let count = 1 + random.below(20)
        waiting = min(size, waiting + count)
        steps.append(.write(count))
      case 3...4 where waiting > 0:
        let count = 1 + random.below(waiting)
        waiting -= count
        steps.append(.drain(count))
      case 5, 6: steps += [.turn, .ask]
      case 7 where waiting == size:
        steps += [.turn, .ask]
        steps += random.oneIn(2) ? [.unschedule, .ask, .schedule] : [.removeClient, .ask, .setClient]
        steps.append(.turn)
      case 8 where random.oneIn(10): return steps + [.close, .turn, .ask, .close, .ask]
      default: break
      }
    }
    return steps
  }

  /// What a client and the caller saw.
  private func play(_ steps: [Step], on played: some PlayedWriteStream) -> [String] {
    let stream = played.stream
    let client = CFClient()
    var trace: [String] = []
    client.onWrite = { _, event in trace.append("event \(event.rawValue)") }
    client.attach(to: stream)
    schedule(stream)
    trace.append("open \(CFWriteStreamOpen(stream))")
    for step in steps {
      switch step {
      case .write(let count):
        trace.append("write \(write(stream, [UInt8](repeating: 1, count: count)))")
        played.wasWritten()
      case .drain(let count): played.drains(count)
      case .turn: turnOnce()
      case .ask:
        trace.append(
          "status \(CFWriteStreamGetStatus(stream).rawValue) room \(CFWriteStreamCanAcceptBytes(stream))")
        trace.append("error \(CFWriteStreamGetError(stream))")
      case .close: CFWriteStreamClose(stream)
      case .unschedule:
        CFWriteStreamUnscheduleFromRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode)
      case .schedule: schedule(stream)
      case .removeClient: CFWriteStreamSetClient(stream, 0, nil, nil)
      case .setClient: client.attach(to: stream)
      }
    }
    CFWriteStreamClose(stream)
    return trace
  }

  private func turnOnce() {
    for _ in 0..<4 { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true) }
    for _ in 0..<2 { EventBase.shared.sync {} }
    for _ in 0..<4 { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true) }
  }

  // S26 to S37, S86 to S89, S137 to S149: whatever the script.
  @Test func withoutADifferenceBothSayTheSame() {
    for seed in scriptSeeds(150) {
      let steps = Self.script(seed)
      let expected = play(steps, on: PlainWriteStream(size: Self.size))
      let seen = play(steps, on: AdaptedWriteStream(size: Self.size))
      #expect(seen == expected, "seed \(seed): \(steps)")
      if seen != expected { break }
    }
  }
}
