// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Takes typed text apart into requests: a blank line ends one, and `/reconnect` may stand between two. Pure.

/// Requests typed by hand, as they come.
struct TypedRequests {
  /// One request.
  struct Request: Hashable, Sendable {
    /// What is sent.
    var bytes: [UInt8] = []
    /// The first word of the first line.
    var method = ""
    /// Whether its blank line was typed.
    var isWhole = false
  }

  /// What was typed.
  enum Item: Hashable, Sendable {
    case request(Request)
    case reconnect
    /// A request of more than ``limit`` bytes; what follows of it is not kept, and nothing behind it is looked at.
    case tooLong
  }

  /// The longest request, in bytes.
  static let limit = 1_048_576

  static let reconnectCommand = "/reconnect"

  /// Whether lines are sent with the ends that they were typed with. Otherwise each is sent with CR LF.
  private let keepsLineEnds: Bool
  /// The line being typed.
  private var line: [UInt8] = []
  /// The request being typed, if a line of it is there.
  private var request: Request?
  private var items: [Item] = []
  private var isTooLong = false

  init(keepsLineEnds: Bool) { self.keepsLineEnds = keepsLineEnds }

  /// The next of the items that are whole.
  mutating func next() -> Item? { items.isEmpty ? nil : items.removeFirst() }

  /// Takes what was typed, cut anywhere.
  mutating func add(_ bytes: [UInt8]) {
    guard !isTooLong else { return }
    for piece in bytes.split(separator: ReplyText.lineFeed, omittingEmptySubsequences: false).dropLast() {
      line += piece + [ReplyText.lineFeed]
      endLine()
    }
    line += bytes[bytes.index(after: bytes.lastIndex(of: ReplyText.lineFeed) ?? -1)...]
    if (request?.bytes.count ?? 0) + line.count > Self.limit {
      (line, request, isTooLong) = ([], nil, true)
      items.append(.tooLong)
    }
  }

  /// Nothing more is typed: what there is of a last request is one, too.
  mutating func end() {
    if !line.isEmpty { endLine() }
    if let request { items.append(.request(request)) }
    request = nil
  }

  private mutating func endLine() {
    defer { line = [] }
    let text = ReplyText.withoutEnd(line)
    guard var request = request ?? firstLine(text) else { return }
    request.bytes += keepsLineEnds ? line : text + [ReplyText.carriageReturn, ReplyText.lineFeed]
    request.isWhole = text.isEmpty
    self.request = request.isWhole ? nil : request
    if request.isWhole { items.append(.request(request)) }
  }

  /// The request that begins with this line; `nil` for a command, and for blank lines between requests.
  private mutating func firstLine(_ text: ArraySlice<UInt8>) -> Request? {
    if text.elementsEqual(Self.reconnectCommand.utf8) { items.append(.reconnect) }
    guard !text.isEmpty, !text.elementsEqual(Self.reconnectCommand.utf8) else { return nil }
    let method = text.prefix { $0 != UInt8(ascii: " ") }
    return Request(method: String(decoding: method, as: UTF8.self))
  }
}
