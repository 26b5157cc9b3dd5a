// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How the text of one argument becomes a value: what is expected, in words, and the function that reads it.

/// What one argument may be.
struct ValueType<Value: Sendable>: Sendable {
  /// What is expected, as the end of a sentence: "a whole number from 1 to 50".
  let expectation: String
  /// The only texts that are allowed, if they can be listed.
  let choices: [String]
  /// Reads the text; `nil` if it is not what is expected.
  let parse: @Sendable (_ text: String) -> Value?

  init(expecting expectation: String, choices: [String] = [], parse: @escaping @Sendable (String) -> Value?) {
    self.expectation = expectation
    self.choices = choices
    self.parse = parse
  }
}

/// A value that is one of a few words.
protocol Choice: RawRepresentable<String>, CaseIterable, Sendable {}

extension ValueType {
  /// One of the words of `type`.
  static func choice(_ type: Value.Type = Value.self) -> Self where Value: Choice {
    let words = Value.allCases.map(\.rawValue)
    return Self(expecting: "one of " + words.joined(separator: ", "), choices: words) { Value(rawValue: $0) }
  }
}

extension ValueType<String> {
  /// Any text.
  static var text: Self { Self(expecting: "a text") { $0 } }

  /// A path in the file system; `-` stands for a standard stream.
  static var path: Self { Self(expecting: "a path") { $0.isEmpty || $0.contains("\0") ? nil : $0 } }

  /// A path that fits into the address of a Unix-domain socket.
  static var socketPath: Self {
    Self(expecting: "a path of 1 to 107 bytes") { text in
      (1...107).contains(text.utf8.count) && !text.contains("\0") ? text : nil
    }
  }

  /// A host name or an address, without a scheme or a port.
  static var host: Self {
    Self(expecting: "a host name or an address, without a scheme or a port") { isHost($0) ? $0 : nil }
  }

  /// Whether `text` can be the name or the address of a host. Colons are for IPv6 addresses alone.
  private static func isHost(_ text: String) -> Bool {
    guard (1...253).contains(text.utf8.count) else { return false }
    let allowed = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"): true
      case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "%"): true
      case UInt8(ascii: "["), UInt8(ascii: "]"): true
      default: byte >= 0x80
      }
    }
    let colons = text.utf8.count { $0 == UInt8(ascii: ":") }
    return allowed && colons != 1 && text != "[]"
  }
}

extension ValueType<Int> {
  /// A whole number, in decimal digits, within `range`.
  static func integer(_ range: ClosedRange<Int>) -> Self {
    Self(expecting: "a whole number from \(range.lowerBound) to \(range.upperBound)") { text in
      Int(text).flatMap { range.contains($0) ? $0 : nil }
    }
  }
}

extension ValueType<UInt16> {
  /// A port that can be connected to.
  static var port: Self {
    Self(expecting: "a port from 1 to 65535") { UInt16($0).flatMap { $0 == 0 ? nil : $0 } }
  }

  /// A port to listen on; 0 has the system choose.
  static var listeningPort: Self { Self(expecting: "a port from 0 to 65535") { UInt16($0) } }
}

extension ValueType<Duration> {
  /// Seconds, with a fraction if need be; at least a millisecond, at most a day.
  static var seconds: Self {
    Self(expecting: "a number of seconds from 0.001 to 86400") { text in
      guard
        text.utf8.allSatisfy({
          $0 == UInt8(ascii: ".") || ($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9"))
        }),
        let seconds = Double(text), (0.001...86_400).contains(seconds)
      else { return nil }
      return .milliseconds(Int64((seconds * 1_000).rounded()))
    }
  }

  /// Whole milliseconds, at most an hour.
  static var milliseconds: Self {
    Self(expecting: "a number of milliseconds from 0 to 3600000") { text in
      Int64(text).flatMap { (0...3_600_000).contains($0) ? .milliseconds($0) : nil }
    }
  }
}
