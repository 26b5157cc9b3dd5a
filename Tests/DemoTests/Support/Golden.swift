// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Texts that are kept in Golden/. `UPDATE_GOLDEN=1 swift test` writes them anew; the difference is then for the reviewer.

import Glibc
import Testing

/// A file in Tests/DemoTests/Golden.
struct Golden {
  private let path: String

  init(_ name: String) {
    let folders = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
    path = folders.joined(separator: "/") + "/Golden/" + name
  }

  /// Whether `text` is what the file holds; tells the first line that differs.
  func expect(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    if let flag = getenv("UPDATE_GOLDEN"), String(cString: flag) == "1" {
      try TextFile.write(text, to: path)
    }
    let expected = try TextFile.read(path)
    guard text != expected else { return }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let wanted = expected.split(separator: "\n", omittingEmptySubsequences: false)
    let index =
      zip(lines, wanted).enumerated().first { $1.0 != $1.1 }?.offset ?? min(lines.count, wanted.count)
    let (is_, was) = (
      index < lines.count ? lines[index] : "(end)", index < wanted.count ? wanted[index] : "(end)"
    )
    Issue.record("\(path):\(index + 1): \"\(is_)\" instead of \"\(was)\"", sourceLocation: sourceLocation)
  }
}

/// Whole files.
enum TextFile {
  struct Failure: Error { let path: String, code: Int32 }

  static func read(_ path: String) throws -> String { String(decoding: try bytes(path), as: UTF8.self) }

  static func bytes(_ path: String) throws -> [UInt8] {
    guard let file = fopen(path, "r") else { throw Failure(path: path, code: errno) }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
    return bytes
  }

  static func write(_ text: String, to path: String) throws { try write(Array(text.utf8), to: path) }

  static func write(_ bytes: [UInt8], to path: String) throws {
    guard let file = fopen(path, "w") else { throw Failure(path: path, code: errno) }
    let count = fwrite(bytes, 1, bytes.count, file)
    guard fclose(file) == 0, count == bytes.count else { throw Failure(path: path, code: errno) }
  }
}
