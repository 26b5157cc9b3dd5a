// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Bytes that arrive in any cut become text of whole characters. Pure.

/// Turns bytes into text, piece by piece. A character whose bytes are in two pieces, or more, comes out whole.
public struct UTF8Decoder: Sendable {
  /// What stands for bytes that are not UTF-8.
  public enum Replacement: Hashable, Sendable {
    /// U+FFFD, once for each sequence that could have begun a character.
    case mark
    /// `\xNN` for each byte.
    case hex
  }

  private let replacement: Replacement
  /// The start of a character whose end has not arrived: at most three bytes.
  private var carried: [UInt8] = []

  /// Makes a decoder that has seen nothing.
  public init(replacing replacement: Replacement = .mark) { self.replacement = replacement }

  /// The text of what is complete, with replacements for what is not UTF-8; the start of a cut character waits for the
  /// next piece.
  public mutating func decode(_ piece: [UInt8]) -> String {
    let bytes = takeComplete(piece)
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    return String(decoding: repaired(bytes), as: UTF8.self)
  }

  /// The text of what is complete; the start of a cut character waits for the next piece.
  /// - Throws: ``StreamError/Frame/malformed`` if there is anything that is not UTF-8. The decoder goes on with the
  ///   next piece.
  public mutating func decodeStrictly(_ piece: [UInt8]) throws(StreamError) -> String {
    guard let text = String(validating: takeComplete(piece), as: UTF8.self) else {
      throw .frame(.malformed, "decode")
    }
    return text
  }

  /// The text of what was left when nothing more comes: a replacement, or nothing.
  public mutating func finish() -> String {
    defer { carried = [] }
    return String(decoding: repaired(carried[...]), as: UTF8.self)
  }

  private mutating func takeComplete(_ piece: [UInt8]) -> ArraySlice<UInt8> {
    let bytes = carried.isEmpty ? piece : carried + piece
    let cut = bytes.count - Self.incompleteTail(of: bytes)
    carried = Array(bytes[cut...])
    return bytes[..<cut]
  }

  private func repaired(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    var rest = bytes
    while !rest.isEmpty {
      switch Self.sequence(rest) {
      case .character(let length):
        text += rest.prefix(length)
        rest = rest.dropFirst(length)
      case .incomplete(let length), .invalid(let length):
        text += replacement == .mark ? [0xEF, 0xBF, 0xBD] : rest.prefix(length).flatMap(Self.hex)
        rest = rest.dropFirst(length)
      }
    }
    return text
  }

  // MARK: - UTF-8

  private enum Sequence {
    case character(length: Int)
    /// All that is there could begin a character.
    case incomplete(length: Int)
    /// No character begins like this; one replacement for all of it.
    case invalid(length: Int)
  }

  /// What `bytes`, which are not empty, begin with. The ranges are those of table 3-7 of the Unicode standard.
  private static func sequence(_ bytes: ArraySlice<UInt8>) -> Sequence {
    let lead = bytes[bytes.startIndex]
    let (length, second): (Int, ClosedRange<UInt8>)
    switch lead {
    case 0x00...0x7F: return .character(length: 1)
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: return .invalid(length: 1)
    }
    for (offset, byte) in bytes.dropFirst().prefix(length - 1).enumerated() {
      guard (offset == 0 ? second : 0x80...0xBF).contains(byte) else { return .invalid(length: offset + 1) }
    }
    return bytes.count < length ? .incomplete(length: bytes.count) : .character(length: length)
  }

  /// How many bytes at the end could begin a character.
  private static func incompleteTail(of bytes: [UInt8]) -> Int {
    for length in 1...3 where length <= bytes.count {
      if case .incomplete = sequence(bytes.suffix(length)) { return length }
    }
    return 0
  }

  private static func hex(_ byte: UInt8) -> [UInt8] {
    let digits = Array("0123456789ABCDEF".utf8)
    return [UInt8(ascii: "\\"), UInt8(ascii: "x"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }
}
