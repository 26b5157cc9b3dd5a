// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What readers and writers of frames told, in words, and a connection to try them on.
import SocketStreams

/// What one reader and one writer told, in order.
final class FramedLog: Sendable {
  private let lines = Shared<[String]>([])
  private let isLong: Int

  /// Frames longer than `length` are noted by their length.
  init(longFrom length: Int = 100) { isLong = length }

  var all: [String] { lines.value }

  func note(_ line: String) { lines.with { $0.append(line) } }

  func note(_ event: FramedReadEvent) {
    switch event {
    case .opened: note("opened")
    case .frame(let bytes, let tag):
      note(
        "\(tag): \(bytes.count < isLong ? String(decoding: bytes, as: UTF8.self).debugDescription : "\(bytes.count) bytes")"
      )
    case .partial(let count, let total, let tag): note("\(tag): \(count) of \(total.map(String.init) ?? "?")")
    case .timeLimitPassed(let tag, _, let count): note("\(tag): time limit, \(count)")
    case .failed(let error, let tag): note("\(tag): \(error.domain) \(error.code)")
    case .ended(let error): note("ended\(error.map { " \($0.domain) \($0.code)" } ?? "")")
    }
  }

  func note(_ event: FramedWriteEvent) {
    switch event {
    case .opened: note("w opened")
    case .written(let tag): note("w \(tag): written")
    case .partial(let count, let total, let tag): note("w \(tag): \(count) of \(total)")
    case .timeLimitPassed(let tag, _, let count): note("w \(tag): time limit, \(count)")
    case .failed(let error, let tag, let count): note("w \(tag): \(error.domain) \(error.code), \(count)")
    case .ended(let error): note("w ended\(error.map { " \($0.domain) \($0.code)" } ?? "")")
    }
  }

  /// Waits until a line was noted.
  func hears(_ line: String, within seconds: Double = 20) -> Bool {
    eventually(within: seconds) { all.contains(line) }
  }
}

/// A pair in frames whose events are noted. Closes it when dropped.
final class FramedLink: Sendable {
  let base: EventBase
  let log = FramedLog()
  let framed: FramedPair

  var reader: FramedReader { framed.reader }
  var writer: FramedWriter { framed.writer }

  /// Takes over `pair`, which is to be opened by the test.
  init(_ pair: StreamPair, on base: EventBase, queueLimit: Int = .max, reportsPartial: Bool = false) {
    self.base = base
    framed = FramedPair(
      reader: FramedReader(pair.input, on: base, reportsPartial: reportsPartial) { [log] _, event in
        log.note(event)
      },
      writer: FramedWriter(pair.output, on: base, queueLimit: queueLimit, reportsPartial: reportsPartial) {
        [log] _, event in log.note(event)
      })
  }

  deinit { framed.close() }
}
