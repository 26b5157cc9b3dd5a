// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Foundation's streams in tests: a delegate that records, pairs connected to a plain socket, and values on their way to
// other threads.

import CoreFoundation
import Foundation
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

/// Passes something to another thread that Foundation calls unsafe to pass. Tests use it on one thread at a time.
struct Handed<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

/// Records what a delegate is told.
///
/// `@unchecked Sendable`: what changes is in `Shared`; the action is set before events can come.
final class Recorder: StreamDelegate, @unchecked Sendable {
  struct Entry {
    let event: Stream.Event
    let status: Stream.Status
    let thread: pthread_t
    let stream: ObjectIdentifier
  }

  private let log = Shared<[Entry]>([])
  private let depth = Shared((now: 0, most: 0))
  var action: (Stream, Stream.Event) -> Void = { _, _ in }

  var entries: [Entry] { log.value }
  var events: [UInt] { entries.map(\.event.rawValue) }
  var threads: [pthread_t] { entries.map(\.thread) }
  /// How many calls were on the stack at once.
  var mostNested: Int { depth.value.most }

  func count(_ event: Stream.Event) -> Int { events.count { $0 == event.rawValue } }
  func has(_ event: Stream.Event) -> Bool { count(event) > 0 }

  func stream(_ stream: Stream, handle event: Stream.Event) {
    let entry = Entry(
      event: event, status: stream.streamStatus, thread: pthread_self(), stream: ObjectIdentifier(stream))
    depth.with { depth in
      depth.now += 1
      depth.most = max(depth.most, depth.now)
    }
    log.with { $0.append(entry) }
    action(stream, event)
    depth.with { $0.now -= 1 }
  }
}

/// One thing that a program does with a stream.
enum DelegateStep {
  case schedule, setDelegate, open

  /// The six ways to do all three.
  static let orders: [[DelegateStep]] = [
    [.schedule, .setDelegate, .open], [.schedule, .open, .setDelegate], [.setDelegate, .schedule, .open],
    [.setDelegate, .open, .schedule], [.open, .schedule, .setDelegate], [.open, .setDelegate, .schedule],
  ]
}

/// Two Foundation streams to a host, that are not open yet.
struct FoundationPair {
  let input: InputStream
  let output: OutputStream

  init(host: String = "127.0.0.1", port: UInt16) throws {
    var input: InputStream?
    var output: OutputStream?
    Stream.getStreamsToHost(withName: host, port: Int(port), inputStream: &input, outputStream: &output)
    self.input = try #require(input)
    self.output = try #require(output)
  }

  init(boundWithSize size: Int) throws {
    var input: InputStream?
    var output: OutputStream?
    Stream.getBoundStreams(withBufferSize: size, inputStream: &input, outputStream: &output)
    self.input = try #require(input)
    self.output = try #require(output)
  }

  /// A pair that is connected and open, which no status was asked of, and the plain socket at its other end.
  static func connected() throws -> (FoundationPair, RawSocket) {
    let listener = try RawListener()
    let pair = try FoundationPair(port: listener.port)
    pair.open()
    return (pair, try #require(listener.accept()))
  }

  func open() {
    input.open()
    output.open()
  }

  func close() {
    input.close()
    output.close()
  }
}

/// Reads at most `count` bytes; waits for one. `nil` is a failure.
func read(_ stream: InputStream, _ count: Int = 65_536) -> [UInt8]? {
  var room = [UInt8](repeating: 0, count: count)
  let got = stream.read(&room, maxLength: count)
  return got < 0 ? nil : Array(room.prefix(got))
}

/// Reads to the end.
func readAll(_ stream: InputStream) -> [UInt8]? {
  var all: [UInt8] = []
  while let bytes = read(stream) {
    if bytes.isEmpty { return all }
    all += bytes
  }
  return nil
}

/// Writes all, waiting as needed.
@discardableResult
func writeAll(_ stream: OutputStream, _ bytes: [UInt8]) -> Bool {
  var rest = bytes[...]
  while !rest.isEmpty {
    let written = rest.withUnsafeBufferPointer { stream.write($0.baseAddress!, maxLength: $0.count) }
    if written <= 0 { return false }
    rest = rest.dropFirst(written)
  }
  return true
}

extension LoopThread {
  /// The loop as Foundation knows it.
  var runLoop: RunLoop {
    let found = Shared<Handed<RunLoop>?>(nil)
    sync {
      let here = Handed(RunLoop.current)
      found.with { $0 = here }
    }
    return found.value!.value
  }
}

/// Until a weak reference is gone: the thread that lets go of the object may still be in its call.
func isGone(_ object: () -> AnyObject?) -> Bool { eventually { object() == nil } }
