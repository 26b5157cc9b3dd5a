// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Feeds a frame queue: the same bytes whole, byte by byte and in any cut must give the same answers.
import SocketStreams

/// What a queue answered, without what depends on the cuts.
enum FrameAnswer: Equatable, CustomStringConvertible {
  case frame(String, Int)
  case failed(StreamError.Frame, Int)
  case broken(Int32, Int)
  case ended

  var description: String {
    switch self {
    case .frame(let text, let tag): "\(tag): \(text.debugDescription)"
    case .failed(let code, let tag): "\(tag): \(code)"
    case .broken(let code, let tag): "\(tag): error \(code)"
    case .ended: "ended"
    }
  }
}

/// One queue, the reads in it, and the answers so far.
struct FrameFeed {
  private(set) var queue = FrameQueue()
  private(set) var answers: [FrameAnswer] = []
  private(set) var mostBuffered = 0

  /// Tags are numbered from 0.
  init(_ framings: [Framing]) {
    for (tag, framing) in framings.enumerated() { queue.enqueue(framing, tag: tag) }
    settle()
  }

  mutating func read(_ framing: Framing, tag: Int) {
    queue.enqueue(framing, tag: tag)
    settle()
  }

  mutating func arrive(_ bytes: some Collection<UInt8>) {
    queue.bytesArrived(Array(bytes))
    mostBuffered = max(mostBuffered, queue.byteCount)
    settle()
  }

  mutating func end() {
    queue.streamEnded()
    settle()
  }

  mutating func fail(_ error: StreamError) {
    queue.streamFailed(error)
    settle()
  }

  mutating func pushBack(_ bytes: [UInt8]) {
    queue.pushedBack(bytes)
    settle()
  }

  mutating func takeUnread() -> [UInt8] { queue.takeUnread() }

  private mutating func settle() {
    while true {
      switch queue.next(now: 0) {
      case .frame(let bytes, let tag): answers.append(.frame(String(decoding: bytes, as: UTF8.self), tag))
      case .failed(let error, let tag):
        if error.domain == .streams, let code = StreamError.Frame(rawValue: error.code) {
          answers.append(.failed(code, tag))
        } else {
          answers.append(.broken(error.code, tag))
        }
      case .ended: answers.append(.ended)
      case .partial: break
      case .read, .idle: return
      }
    }
  }
}

/// The answers to `framings` for `input` followed by the end, in every cut into two pieces, byte by byte, and whole; an
/// empty array if they are not all the same.
func answers(to framings: [Framing], _ input: [UInt8]) -> [FrameAnswer] {
  func fed(_ pieces: [ArraySlice<UInt8>]) -> [FrameAnswer] {
    var feed = FrameFeed(framings)
    for piece in pieces { feed.arrive(piece) }
    feed.end()
    return feed.answers
  }
  let whole = fed([input[...]])
  let bytewise = fed(input.indices.map { input[$0...$0] })
  let cuts = input.indices.map { fed([input[..<$0], input[$0...]]) }
  return ([bytewise] + cuts).allSatisfy { $0 == whole } ? whole : []
}

/// The same, of text.
func answers(to framings: [Framing], _ input: String) -> [FrameAnswer] {
  answers(to: framings, Array(input.utf8))
}
