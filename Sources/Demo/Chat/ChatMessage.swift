// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a client may say, and how it is written: `iam:NAME`, `msg:TEXT`, a line each. Pure.

/// What a line of a client's asks for.
enum ChatMessage: Hashable, Sendable {
  case join(name: String)
  case say(String)

  /// The bytes of a line, without its end, that a server takes.
  static let limit = 4_096

  /// Reads a line; `nil` if it asks for nothing. Only the first colon divides it, so that a text may have more of them.
  /// Blanks at the ends of the line and of what follows the colon do not count.
  init?(line: String) {
    let line = line.withoutOuterBlanks
    guard let colon = line.firstIndex(of: ":") else { return nil }
    let rest = String(line[line.index(after: colon)...]).withoutOuterBlanks
    switch line[..<colon] {
    case "iam" where !rest.isEmpty: self = .join(name: rest)
    case "msg": self = .say(rest)
    default: return nil
    }
  }

  /// The line, without its end.
  var line: String {
    switch self {
    case .join(let name): "iam:" + name
    case .say(let text): "msg:" + text
    }
  }

  /// The line as it is sent, with its end.
  var bytes: [UInt8] { Array(line.utf8) + [UInt8(ascii: "\n")] }

  /// Whether a server takes it.
  var isWithinLimit: Bool { line.utf8.count <= Self.limit }
}

/// What a server says to all who are there.
enum ChatNotice {
  static func joined(_ name: String) -> String { name + " joined" }
  static func left(_ name: String) -> String { name + " left" }
  static func said(_ text: String, by name: String) -> String { "\(name): \(text)" }

  /// Whether `line` tells that `name` has joined, in the words of this server or of the tutorial's.
  static func isJoining(_ line: String, of name: String) -> Bool {
    line == joined(name) || line == name + " has joined"
  }
}

extension ValueType<String> {
  /// A name in a chat, without the blanks at its ends, that no server can take for anything else.
  static var chatName: Self {
    Self(expecting: "a name without a colon, a line end or any other control character") { text in
      let name = text.withoutOuterBlanks
      let isPlain = text.unicodeScalars.allSatisfy { scalar in
        scalar != ":"
          && ![.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
      }
      return isPlain && !name.isEmpty && ChatMessage.join(name: name).isWithinLimit ? name : nil
    }
  }
}

extension String {
  /// The text without white space at its ends. Scalars decide, not characters: CR LF is one of those.
  var withoutOuterBlanks: String {
    let isBlank = { (scalar: Unicode.Scalar) in scalar.properties.isWhitespace }
    guard let first = unicodeScalars.firstIndex(where: { !isBlank($0) }),
      let last = unicodeScalars.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(unicodeScalars[first...last])
  }
}
