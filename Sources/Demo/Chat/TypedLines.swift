// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Bytes that are typed, in any cut, become lines. A line without end takes no more memory than one that may be sent. Pure.

/// A line that was typed.
enum TypedLine: Hashable, Sendable {
  /// Without its end; bytes that are not UTF-8 are replaced.
  case text(String)
  /// A line of this many bytes, which are not kept.
  case tooLong(count: Int)
}

/// Cuts what is typed into lines.
struct TypedLines {
  private let limit: Int
  private var pending: ArraySlice<UInt8> = []
  /// The beginning of the line whose end has not come.
  private var start: [UInt8] = []
  /// How long that line is, kept or not.
  private var count = 0
  private var last: UInt8 = 0

  /// - Parameter limit: The longest line, in bytes, that is kept.
  init(limit: Int) { self.limit = limit }

  mutating func add(_ bytes: [UInt8]) { pending += bytes }

  /// The next whole line; `nil` until more is added.
  mutating func next() -> TypedLine? {
    guard let end = pending.firstIndex(of: UInt8(ascii: "\n")) else {
      keep(pending)
      pending = []
      return nil
    }
    keep(pending[..<end])
    pending = pending[(end + 1)...]
    return takeLine()
  }

  /// The last line, if it has no end.
  mutating func finish() -> TypedLine? { count == 0 ? nil : takeLine() }

  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    // One byte more than may be, since the last may be the CR of the line's end.
    start += bytes.prefix(max(limit + 1 - start.count, 0))
    count += bytes.count
    last = bytes.last ?? last
  }

  private mutating func takeLine() -> TypedLine {
    defer { (start, count, last) = ([], 0, 0) }
    if last == UInt8(ascii: "\r") { count -= 1 }
    return count > limit
      ? .tooLong(count: count) : .text(String(decoding: start.prefix(count), as: UTF8.self))
  }
}
