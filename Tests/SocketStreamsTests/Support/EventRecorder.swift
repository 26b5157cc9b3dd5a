// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What clients were told, in order, with the thread that told them. One recorder takes the events of both halves of a
// pair, from closure clients and from C clients; waits have a limit and say what is missing.
import Glibc
import SocketStreams
import Testing

/// Which stream of a pair.
enum Half: String, Sendable, CaseIterable, CustomTestStringConvertible {
  case read, write
  var testDescription: String { rawValue }
}

/// Collects the events of clients.
final class EventRecorder: @unchecked Sendable {
  // Every access of `recorded` and `signals` is inside `Shared`.
  struct Entry: Equatable, Sendable {
    var half: Half
    var event: StreamEvent
    /// The stream's status while it told.
    var status: StreamStatus
    var thread: pthread_t
  }

  private let recorded = Shared<[Entry]>([])
  private let signals = Shared<[Signal]>([])

  /// Everything so far, oldest first.
  var entries: [Entry] { recorded.value }

  /// The events of one half so far.
  func events(_ half: Half) -> [StreamEvent] { entries.filter { $0.half == half }.map(\.event) }

  func count(_ event: StreamEvent, of half: Half) -> Int { events(half).count { $0 == event } }

  /// The threads that called the clients of one half.
  func threads(_ half: Half) -> Set<pthread_t> { Set(entries.filter { $0.half == half }.map(\.thread)) }

  func record(_ half: Half, _ event: StreamEvent, _ status: StreamStatus) {
    recorded.with { $0.append(Entry(half: half, event: event, status: status, thread: pthread_self())) }
    signals.with { waiting in for signal in waiting { signal.raise() } }
  }

  func forget() { recorded.with { $0 = [] } }

  // MARK: - Clients

  /// Sets a closure client that records, and then does `action`.
  func attach(
    to stream: ReadStream, _ mask: StreamEvents = .all,
    then action: @escaping @Sendable (ReadStream, StreamEvent) -> Void = { _, _ in }
  ) {
    stream.setClient(mask) { stream, event in
      self.record(.read, event, stream.status)
      action(stream, event)
    }
  }

  /// Sets a closure client that records, and then does `action`.
  func attach(
    to stream: WriteStream, _ mask: StreamEvents = .all,
    then action: @escaping @Sendable (WriteStream, StreamEvent) -> Void = { _, _ in }
  ) {
    stream.setClient(mask) { stream, event in
      self.record(.write, event, stream.status)
      action(stream, event)
    }
  }

  /// Sets recording clients for both halves.
  func attach(to pair: StreamPair, _ mask: StreamEvents = .all) {
    attach(to: pair.input, mask)
    attach(to: pair.output, mask)
  }

  // MARK: - Waiting

  /// Waits until what was recorded satisfies `condition`.
  func wait(within seconds: Double = 5, until condition: ([Entry]) -> Bool) -> Bool {
    let signal = Signal()
    signals.with { $0.append(signal) }
    defer { signals.with { waiting in waiting.removeAll { $0 === signal } } }
    let end = monotonicSeconds() + seconds
    while !condition(entries) {
      guard signal.wait(seconds: max(0, end - monotonicSeconds())) else { return condition(entries) }
    }
    return true
  }

  /// Waits for one half to have been told exactly `expected`, in this order.
  /// - Parameter base: Where events come from: a few passes of its loop are let by, so that one too many shows.
  func expect(
    _ expected: [StreamEvent], of half: Half, within seconds: Double = 5, settling base: EventBase? = nil,
    _ location: SourceLocation = #_sourceLocation
  ) {
    _ = wait(within: seconds) { entries in entries.count { $0.half == half } >= expected.count }
    base?.settle()
    let told = events(half)
    #expect(told == expected, "the \(half.rawValue) half within \(seconds) s", sourceLocation: location)
  }

  /// Waits for one half to have been told `event` at least `times` times, whatever else it was told.
  @discardableResult
  func expect(
    _ event: StreamEvent, of half: Half, times: Int = 1, within seconds: Double = 5,
    _ location: SourceLocation = #_sourceLocation
  ) -> Bool {
    let came = wait(within: seconds) { entries in
      entries.count { $0.half == half && $0.event == event } >= times
    }
    #expect(
      came,
      "\(times) × \(event) of the \(half.rawValue) half within \(seconds) s; it was told \(events(half))",
      sourceLocation: location)
    return came
  }
}

extension EventBase {
  /// Lets a few passes of the loop go by: what was due when this was called has been delivered when it returns.
  /// Not on the base's own thread.
  func settle(passes: Int = 4) {
    for _ in 0..<passes { sync {} }
  }
}
