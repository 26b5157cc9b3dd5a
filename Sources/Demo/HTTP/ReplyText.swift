// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The little that HTTP asks of text: ASCII without regard to case, and white space that does not count. Pure.

/// Functions over the bytes of a header.
enum ReplyText {
  static let lineFeed = UInt8(ascii: "\n")
  static let carriageReturn = UInt8(ascii: "\r")

  static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
  static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

  /// A line without its end, which is LF with or without CR before it.
  static func withoutEnd(_ line: [UInt8]) -> ArraySlice<UInt8> {
    var text = line[...]
    if text.last == lineFeed { text.removeLast() }
    if text.last == carriageReturn { text.removeLast() }
    return text
  }

  /// Without spaces and tabs at both ends.
  static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = bytes.drop(while: isBlank)
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }

  /// The letters A to Z made small, and nothing else changed.
  static func lowercased(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    bytes.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 + 32 : $0 }
  }

  /// The parts between commas, without the white space around them.
  static func elements(_ value: [UInt8]) -> [ArraySlice<UInt8>] {
    value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map(trimmed)
  }

  /// A number in digits alone; `nil` also for one that is too large.
  static func number(_ digits: ArraySlice<UInt8>, radix: Int = 10) -> Int? {
    guard !digits.isEmpty else { return nil }
    var number = 0
    for byte in digits {
      guard let digit = value(of: byte), digit < radix else { return nil }
      let (product, isTooLarge) = number.multipliedReportingOverflow(by: radix)
      let (sum, isStillTooLarge) = product.addingReportingOverflow(digit)
      guard !isTooLarge, !isStillTooLarge else { return nil }
      number = sum
    }
    return number
  }

  private static func value(of byte: UInt8) -> Int? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(byte - UInt8(ascii: "a")) + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(byte - UInt8(ascii: "A")) + 10
    default: nil
    }
  }

  /// The start of a text from outside, for a message.
  static func quoted(_ bytes: ArraySlice<UInt8>) -> String {
    let longest = 60
    let printable = bytes.prefix(longest).map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "?") : $0 }
    return String(decoding: printable, as: UTF8.self) + (bytes.count > longest ? "…" : "")
  }
}
