// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What is said in plain before a connection is secured (STARTTLS): lines and their replies, without a protocol's name.
// Pure.

/// One client's side of it.
struct PlainDialogue: Sendable {
  /// What is to be done next.
  enum Step: Hashable, Sendable {
    /// Send these bytes, and then read.
    case send([UInt8])
    case read
    /// Both sides have agreed to TLS: no further byte in plain.
    case secure
    /// The reason, as the end of a sentence.
    case fail(String)
  }

  private static let lineLimit = 4_096
  /// How much a server may say in all.
  private static let limit = 65_536

  private var rest: ArraySlice<String>
  /// Bytes that are no whole line yet.
  private var unread: [UInt8] = []
  /// How many bytes came.
  private var count = 0
  /// What was sent, and the lines that were taken for replies.
  private var said: [String] = []

  /// - Parameter lines: What is sent, one after the reply to another. An empty line is not sent: it stands for a reply
  ///   that comes by itself.
  init(_ lines: [String]) { rest = lines[...] }

  /// What was said, a line an element; at its end what came besides replies.
  var transcript: [String] {
    guard !unread.isEmpty else { return said }
    let end = UInt8(ascii: "\n")
    let rest = unread.last == end ? unread.dropLast() : unread[...]
    return said + rest.split(separator: end, omittingEmptySubsequences: false).map { "< " + Self.text($0) }
  }

  /// The first step.
  mutating func start() -> Step { next() }

  /// What arrived decides the next step.
  mutating func received(_ bytes: [UInt8]) -> Step {
    count += bytes.count
    guard count <= Self.limit else { return .fail("it says more than \(Self.limit) bytes") }
    unread += bytes
    while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
      let line = Self.text(unread[..<end])
      unread.removeFirst(end + 1)
      said.append("< " + line)
      if Self.isRefusal(line) { return .fail("it said '\(line)'") }
      guard !Self.isContinued(line) else { continue }
      let step = next()
      // Bytes that came in plain must not be taken for what is said later under the protection of TLS.
      if step == .secure, !unread.isEmpty { return .fail("more bytes came in plain behind its reply") }
      guard step == .read else { return step }
    }
    return unread.count > Self.lineLimit ? .fail("its reply is over \(Self.lineLimit) bytes") : .read
  }

  /// The connection is over, which is too early.
  func ended() -> Step { .fail("it ended the connection") }

  /// What comes behind a reply.
  private mutating func next() -> Step {
    guard let line = rest.popFirst() else { return .secure }
    guard !line.isEmpty else { return .read }
    said.append("> " + line)
    return .send(Array((line + "\r\n").utf8))
  }

  private static func text(_ line: ArraySlice<UInt8>) -> String {
    let bytes = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    return PlainText.shown(String(decoding: bytes, as: UTF8.self))
  }

  /// Whether a line says no: a status from 400 to 599, `-ERR` and the like, `NO` or `BAD`, also behind a tag.
  private static func isRefusal(_ line: String) -> Bool {
    if line.hasPrefix("-") { return true }
    if let status = status(line) { return (400...599).contains(status) }
    return line.split(separator: " ").prefix(2).contains { $0 == "NO" || $0 == "BAD" }
  }

  /// Whether more lines of the same reply follow: `250-this`, and at last `250 that`.
  private static func isContinued(_ line: String) -> Bool {
    status(line) != nil && line.utf8.dropFirst(3).first == UInt8(ascii: "-")
  }

  /// Three digits, and no fourth.
  private static func status(_ line: String) -> Int? {
    let digits = line.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return digits.count == 3 ? Int(Substring(digits)) : nil
  }
}
