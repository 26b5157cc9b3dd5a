// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Feeds a ReplyReader as a connection would, from memory. The fuzzer compiles this file together with the reader, without
// a module between them.

#if canImport(Demo)
@testable import Demo
#endif

/// A reply that arrives in pieces.
struct ReplyFeed {
  /// What came of it.
  struct Outcome: Hashable {
    /// The final header, and the interim ones before it.
    var heads: [ReplyHead] = []
    var body: [UInt8] = []
    var error: ReplyError?
    var isDone = false
    /// How many bytes came after the reply; not counted after an error.
    var restCount = 0
  }

  private(set) var outcome = Outcome()
  private var reader: ReplyReader
  private var step: ReplyReader.Step
  private var buffer: [UInt8] = []
  private var start = 0

  init(method: String) {
    reader = ReplyReader(method: method)
    step = reader.start()
  }

  /// The whole reply at the given cuts: how long each piece is; the last one is what is left.
  static func outcome(of reply: [UInt8], method: String = "GET", pieces: some Sequence<Int> = []) -> Outcome {
    var feed = ReplyFeed(method: method)
    var rest = reply[...]
    for count in pieces where !rest.isEmpty {
      feed.add(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    feed.add(rest)
    feed.end()
    return feed.outcome
  }

  private var isOver: Bool { outcome.isDone || outcome.error != nil }

  mutating func add(_ bytes: ArraySlice<UInt8>) {
    guard outcome.error == nil else { return }
    buffer += bytes
    while !isOver, let frame = nextFrame() { take(frame) }
    if outcome.isDone { outcome.restCount = buffer.count - start }
  }

  mutating func end() {
    guard !isOver else { return }
    do {
      try reader.ended(leaving: Array(buffer[start...]))
      outcome.isDone = true
    } catch {
      outcome.error = error
    }
  }

  private mutating func nextFrame() -> [UInt8]? {
    let rest = buffer[start...]
    switch step {
    case .done: return nil
    case .piece(let limit):
      precondition(limit > 0, "a step asks for nothing")
      guard !rest.isEmpty else { return nil }
      return take(rest.prefix(limit))
    case .line(let limit):
      precondition(limit >= 0, "a step allows less than nothing")
      if let end = rest.prefix(limit + 1).firstIndex(of: UInt8(ascii: "\n")) { return take(rest[...end]) }
      if rest.count > limit { outcome.error = reader.tooLong(Array(rest)) }
      return nil
    }
  }

  private mutating func take(_ frame: ArraySlice<UInt8>) -> [UInt8] {
    start = frame.endIndex
    return Array(frame)
  }

  private mutating func take(_ frame: [UInt8]) {
    do {
      let turn = try reader.received(frame)
      step = turn.next
      switch turn.content {
      case .framing: break
      case .head(let head): outcome.heads.append(head)
      case .body(let bytes): outcome.body += bytes
      }
      outcome.isDone = step == .done
    } catch {
      outcome.error = error
    }
  }
}
