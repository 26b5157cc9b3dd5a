// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The status line and the header of an HTTP reply, and what they say about its body. Pure.

/// What comes before the body.
struct ReplyHead: Hashable, Sendable {
  /// One field of the header.
  struct Field: Hashable, Sendable {
    /// In small letters.
    let name: [UInt8]
    var value: [UInt8]
  }

  let majorVersion: Int
  let minorVersion: Int
  /// 100 to 999.
  let status: Int
  let reason: String
  private(set) var fields: [Field] = []

  /// `HTTP/1.1 200 OK`, without its end; `nil` if it is something else. The reason may be missing.
  init?(statusLine line: ArraySlice<UInt8>) {
    let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2, parts[0].count == 8, parts[0].starts(with: Self.protocolName),
      parts[0][parts[0].startIndex + 6] == UInt8(ascii: "."),
      let major = ReplyText.number(parts[0].dropFirst(5).prefix(1)),
      let minor = ReplyText.number(parts[0].suffix(1)),
      parts[1].count == 3, let status = ReplyText.number(parts[1]), status >= 100
    else { return nil }
    (majorVersion, minorVersion, self.status) = (major, minor, status)
    reason = parts.count == 3 ? ReplyText.quoted(ReplyText.trimmed(parts[2])) : ""
  }

  /// Whether a reply can begin with `bytes`, which may be cut anywhere.
  static func canBegin(with bytes: [UInt8]) -> Bool {
    bytes.prefix(protocolName.count).elementsEqual(protocolName.prefix(bytes.count))
  }

  private static let protocolName = Array("HTTP/".utf8)

  /// Adds a line of the header, without its end. A line that begins with white space goes on with the value before it.
  mutating func add(_ line: ArraySlice<UInt8>) throws(ReplyError) {
    if let first = line.first, ReplyText.isBlank(first) {
      guard let last = fields.indices.last else { throw .badField(ReplyText.quoted(line)) }
      fields[last].value += [UInt8(ascii: " ")] + ReplyText.trimmed(line)
      return
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      throw .badField(ReplyText.quoted(line))
    }
    let name = ReplyText.trimmed(line[..<colon])
    guard !name.isEmpty else { throw .badField(ReplyText.quoted(line)) }
    let value = ReplyText.trimmed(line[(colon + 1)...])
    fields.append(Field(name: ReplyText.lowercased(name), value: Array(value)))
  }

  /// The values of the fields of this name, given in small letters; lists in a value are taken apart.
  func elements(of name: String) -> [ArraySlice<UInt8>] {
    fields.filter { $0.name.elementsEqual(name.utf8) }.flatMap { ReplyText.elements($0.value) }
  }

  private func says(_ name: String, _ word: String) -> Bool {
    elements(of: name).contains { ReplyText.lowercased($0).elementsEqual(word.utf8) }
  }
}

// MARK: - The body

/// How the end of a body is found.
enum ReplyBody: Hashable, Sendable {
  /// There is none.
  case none
  case count(Int)
  case chunked
  /// It ends with the connection.
  case toEnd
}

extension ReplyHead {
  /// Whether another reply follows this one, to the same request.
  var isInterim: Bool { status < 200 && status != 101 }

  /// How the body ends. A Transfer-Encoding counts, and not the Content-Length beside it (RFC 9112, section 6.3).
  ///
  /// - Parameter method: That of the request; some have replies without a body whatever the header says.
  func body(after method: String) throws(ReplyError) -> ReplyBody {
    let isTunnel = method == "CONNECT" && (200..<300).contains(status)
    if status < 200 || status == 204 || status == 304 || method == "HEAD" || isTunnel { return .none }
    if let coding = try coding() { return coding }
    guard let length = try length() else { return .toEnd }
    return .count(length)
  }

  private func coding() throws(ReplyError) -> ReplyBody? {
    let codings = elements(of: "transfer-encoding").map { ReplyText.lowercased($0) }.filter {
      !$0.isEmpty && !$0.elementsEqual("identity".utf8)
    }
    guard let first = codings.first else { return nil }
    guard codings.count == 1, first.elementsEqual("chunked".utf8) else {
      throw .unknownCoding(ReplyText.quoted(Array(codings.joined(separator: Array(", ".utf8)))[...]))
    }
    return .chunked
  }

  /// The Content-Length; the same number may be there more than once.
  private func length() throws(ReplyError) -> Int? {
    var length: Int?
    for element in elements(of: "content-length") {
      guard let number = ReplyText.number(element), length == nil || length == number else {
        throw .badLength(ReplyText.quoted(element))
      }
      length = number
    }
    return length
  }

  /// Whether the server ends the connection after this reply, going by its header alone.
  var isLast: Bool {
    if says("connection", "close") { return true }
    return (majorVersion, minorVersion) < (1, 1) && !says("connection", "keep-alive")
  }
}

// MARK: - The file

extension ReplyHead {
  /// The name of the file for the body: `get.html` for HTML, `picture.EXT` for pictures, `get.bin` for anything else.
  var fileName: String {
    let type = elements(of: "content-type").first ?? []
    let name = ReplyText.lowercased(ReplyText.trimmed(type.prefix { $0 != UInt8(ascii: ";") }))
    if name.elementsEqual("text/html".utf8) { return "get.html" }
    let family = Array("image/".utf8)
    guard name.starts(with: family) else { return "get.bin" }
    return "picture." + Self.pictureExtension(name[family.count...])
  }

  /// The usual end of a picture's name. It becomes part of a path, so only letters and digits get into it.
  private static func pictureExtension(_ subtype: ArraySlice<UInt8>) -> String {
    switch String(decoding: subtype, as: UTF8.self) {
    case "jpeg", "pjpeg": return "jpg"
    case "svg+xml": return "svg"
    case "x-icon", "vnd.microsoft.icon": return "ico"
    case "tiff": return "tif"
    default: break
    }
    let isWord = subtype.allSatisfy {
      ReplyText.isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
    }
    return isWord && (1...10).contains(subtype.count) ? String(decoding: subtype, as: UTF8.self) : "img"
  }
}
