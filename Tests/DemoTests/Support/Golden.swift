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
