// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Endless traffic through a pair of streams, checked byte by byte, with the rules that every client relies on: calls on
// the right thread, one at a time, opening and the end told once.

import SocketStreams

/// What both ends of the traffic check at each call.
class Visits: @unchecked Sendable {
  // Sendable: what changes is in `state`.
  private struct State {
    var isInside = false
    var events: [StreamEvent: Int] = [:]
    var faults: [String] = []
  }

  private let state = Shared(State())
  private let bases: [EventBase]
  let finished = Gate()

  init(on bases: [EventBase]) { self.bases = bases }

  /// What was not as it has to be.
  var faults: [String] { state.value.faults }

  func count(_ event: StreamEvent) -> Int { state.value.events[event] ?? 0 }

  func fault(_ text: String) { state.with { $0.faults.append(text) } }

  func visit(_ event: StreamEvent, _ body: () -> Void) {
    if !bases.contains(where: \.isCurrent) { fault("\(event) on a thread that is no base's") }
    state.with {
      if $0.isInside { $0.faults.append("\(event) inside another call") }
      $0.isInside = true
      $0.events[event, default: 0] += 1
    }
    body()
    state.with { $0.isInside = false }
  }
}

/// Writes the pattern until it is told to stop, then closes.
final class Source: Visits, @unchecked Sendable {
  private let isStopping = Shared(false)
  private let sentCount = Shared(0)

  var sent: Int { sentCount.value }

  func start(_ stream: WriteStream) {
    stream.setClient(.all) { [self] stream, event in visit(event) { act(stream, event) } }
    stream.open()
  }

  func stop() { isStopping.with { $0 = true } }

  private func act(_ stream: WriteStream, _ event: StreamEvent) {
    switch event {
    case .openCompleted: break
    case .canAcceptBytes:
      if isStopping.value {
        stream.close()
        finished.open()
      } else {
        let offset = sent
        let count = 1 + (offset &* 7_919) % 40_000
        do {
          let taken = try stream.write(Array(Pattern.bytes(at: offset, count)))
          sentCount.with { $0 += taken ?? 0 }
        } catch { fault("write: \(error)") }
      }
    default: fault("\(event): \(String(describing: stream.error))")
    }
  }
}

/// Reads to the end and compares with the pattern.
final class Sink: Visits, @unchecked Sendable {
  // Touched in calls only, which are one at a time.
  private var buffer = [UInt8](repeating: 0, count: 30_000)
  private let receivedCount = Shared(0)

  var received: Int { receivedCount.value }

  func start(_ stream: ReadStream) {
    stream.setClient(.all) { [self] stream, event in visit(event) { act(stream, event) } }
    stream.open()
  }

  private func act(_ stream: ReadStream, _ event: StreamEvent) {
    switch event {
    case .openCompleted: break
    case .hasBytesAvailable:
      let offset = received
      do {
        guard let count = try buffer.withUnsafeMutableBytes({ try stream.read(into: $0) }) else { return }
        if !Pattern.matches(buffer[..<count], at: offset) { fault("bytes at \(offset) are wrong") }
        receivedCount.with { $0 += count }
      } catch { fault("read: \(error)") }
    case .endEncountered:
      stream.close()
      finished.open()
    default: fault("\(event): \(String(describing: stream.error))")
    }
  }
}
