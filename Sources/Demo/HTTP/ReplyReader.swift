// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Reads an HTTP reply: says what is to be read next, and what that means once it is there. Knows no stream: how the bytes
// arrived, in how many pieces, makes no difference here. Pure.

/// One reply, being read.
struct ReplyReader {
  /// What to read next.
  enum Step: Hashable, Sendable {
    /// All bytes up to and with the next LF, of which at most `limit` come before it.
    case line(limit: Int)
    /// What is there, at least one byte and at most `limit`.
    case piece(limit: Int)
    /// Nothing: the reply is over.
    case done
  }

  /// What was read.
  enum Content: Hashable, Sendable {
    /// A part of the header, or of what is between chunks.
    case framing
    /// The header is whole.
    case head(ReplyHead)
    /// Bytes of the body.
    case body([UInt8])
  }

  /// What was read, and what to read next.
  struct Turn: Hashable, Sendable {
    let content: Content
    let next: Step
  }

  /// The most bytes of a header, those of interim replies before it included, and of trailers.
  static let headLimit = 65_536
  /// The most bytes of the line with the size of a chunk.
  private static let chunkLineLimit = 4_096
  private static let pieceLimit = 65_536

  private enum State: Hashable {
    case statusLine
    case fields(ReplyHead)
    case body(left: Int)
    case bodyToEnd
    case chunkSize
    case chunk(left: Int)
    case chunkEnd
    case trailers
    case done
  }

  /// The method of the request.
  private let method: String
  private var state = State.statusLine
  /// Bytes of the header, and later of the trailers, that were read.
  private var lineBytes = 0
  /// Bytes of the body that were read.
  private(set) var bodyCount = 0
  /// Bytes that the body is to have, if that was said.
  private(set) var bodyTotal: Int?

  init(method: String) { self.method = method }

  /// Whether what is read next belongs to the header.
  var isInHead: Bool {
    switch state {
    case .statusLine, .fields: true
    default: false
    }
  }

  /// Whether the reply ends with the connection, and is whole then.
  var endsWithConnection: Bool { state == .bodyToEnd }

  /// What to read first.
  func start() -> Step { .line(limit: Self.headLimit - 1) }

  /// Takes what the last step asked for.
  mutating func received(_ frame: [UInt8]) throws(ReplyError) -> Turn {
    switch state {
    case .statusLine: try receivedStatusLine(frame)
    case .fields: try receivedField(frame)
    case .body(let left): receivedBody(frame, left: left)
    case .bodyToEnd: receivedBody(frame, next: .bodyToEnd)
    case .chunkSize: try receivedChunkSize(frame)
    case .chunk(let left): receivedChunk(frame, left: left)
    case .chunkEnd: try receivedChunkEnd(frame)
    case .trailers: try receivedTrailer(frame)
    case .done: turn(.framing, .done)
    }
  }

  /// The connection has ended in an orderly way instead of bringing what the last step asked for.
  ///
  /// - Parameter rest: What there was of it.
  /// - Throws: What is missing; nothing if the end of the connection is that of the reply.
  mutating func ended(leaving rest: [UInt8]) throws(ReplyError) {
    switch state {
    case .statusLine where rest.isEmpty: throw .closedBeforeReply
    case .statusLine: throw ReplyHead.canBegin(with: rest) ? .cutHead : .noStatusLine
    case .fields: throw .cutHead
    case .body: throw .truncated(count: bodyCount, total: bodyTotal ?? 0)
    case .chunkSize, .chunk, .chunkEnd, .trailers: throw .cutChunks(count: bodyCount)
    case .bodyToEnd: state = .done
    case .done: break
    }
  }

  /// A line is longer than the last step allowed.
  ///
  /// - Parameter start: What there is of it.
  func tooLong(_ start: [UInt8]) -> ReplyError {
    switch state {
    case .statusLine where !ReplyHead.canBegin(with: start): .noStatusLine
    case .chunkSize: .badChunkSize(ReplyText.quoted(start[...]))
    case .chunkEnd: .badChunkEnd
    case .trailers: .trailersTooLong(limit: Self.headLimit)
    default: .headTooLong(limit: Self.headLimit)
    }
  }

  // MARK: - The header

  private mutating func receivedStatusLine(_ frame: [UInt8]) throws(ReplyError) -> Turn {
    guard let head = ReplyHead(statusLine: ReplyText.withoutEnd(frame)) else { throw .noStatusLine }
    try count(frame, or: .headTooLong(limit: Self.headLimit))
    return turn(.framing, .fields(head))
  }

  private mutating func receivedField(_ frame: [UInt8]) throws(ReplyError) -> Turn {
    guard case .fields(var head) = state else { return turn(.framing, state) }
    // Nobody else has the header now: adding to it copies nothing.
    state = .statusLine
    let line = ReplyText.withoutEnd(frame)
    if !line.isEmpty {
      try head.add(line)
      try count(frame, or: .headTooLong(limit: Self.headLimit))
      return turn(.framing, .fields(head))
    }
    if head.isInterim {
      try count(frame, or: .headTooLong(limit: Self.headLimit))
      return turn(.head(head), .statusLine)
    }
    lineBytes = 0
    return turn(.head(head), try firstState(of: head.body(after: method)))
  }

  private mutating func firstState(of body: ReplyBody) -> State {
    switch body {
    case .none: return .done
    case .count(let count):
      bodyTotal = count
      return count == 0 ? .done : .body(left: count)
    case .chunked: return .chunkSize
    case .toEnd: return .bodyToEnd
    }
  }

  /// Counts a line; another one has to fit in.
  private mutating func count(_ frame: [UInt8], or error: ReplyError) throws(ReplyError) {
    lineBytes += frame.count
    guard lineBytes < Self.headLimit else { throw error }
  }

  // MARK: - The body

  private mutating func receivedBody(_ frame: [UInt8], left: Int) -> Turn {
    receivedBody(frame, next: frame.count < left ? .body(left: left - frame.count) : .done)
  }

  private mutating func receivedBody(_ frame: [UInt8], next: State) -> Turn {
    bodyCount += frame.count
    return turn(.body(frame), next)
  }

  /// The size in hexadecimal digits; what follows a semicolon is for those who know it.
  private mutating func receivedChunkSize(_ frame: [UInt8]) throws(ReplyError) -> Turn {
    let line = ReplyText.withoutEnd(frame)
    let digits = ReplyText.trimmed(line.prefix { $0 != UInt8(ascii: ";") })
    guard let size = ReplyText.number(digits, radix: 16) else {
      throw .badChunkSize(ReplyText.quoted(line))
    }
    return turn(.framing, size == 0 ? .trailers : .chunk(left: size))
  }

  private mutating func receivedChunk(_ frame: [UInt8], left: Int) -> Turn {
    receivedBody(frame, next: frame.count < left ? .chunk(left: left - frame.count) : .chunkEnd)
  }

  private mutating func receivedChunkEnd(_ frame: [UInt8]) throws(ReplyError) -> Turn {
    guard ReplyText.withoutEnd(frame).isEmpty else { throw .badChunkEnd }
    return turn(.framing, .chunkSize)
  }

  private mutating func receivedTrailer(_ frame: [UInt8]) throws(ReplyError) -> Turn {
    if ReplyText.withoutEnd(frame).isEmpty { return turn(.framing, .done) }
    try count(frame, or: .trailersTooLong(limit: Self.headLimit))
    return turn(.framing, .trailers)
  }

  // MARK: - The next step

  private mutating func turn(_ content: Content, _ next: State) -> Turn {
    state = next
    return Turn(content: content, next: step)
  }

  private var step: Step {
    switch state {
    case .statusLine, .fields, .trailers: .line(limit: Self.headLimit - lineBytes - 1)
    case .body(let left), .chunk(let left): .piece(limit: min(left, Self.pieceLimit))
    case .bodyToEnd: .piece(limit: Self.pieceLimit)
    case .chunkSize: .line(limit: Self.chunkLineLimit)
    case .chunkEnd: .line(limit: 1)
    case .done: .done
    }
  }
}
