// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Glibc

/// A folder for one test, gone with it.
final class TemporaryFolder {
  let path: String

  init() {
    var template = Array("/tmp/demo-tests-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil, "mkdtemp: \(errno)")
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { Self.remove(path) }

  /// The path of a file in the folder.
  func file(_ name: String) -> String { path + "/" + name }

  /// Makes a folder in it.
  func folder(_ name: String) -> String {
    precondition(mkdir(file(name), 0o755) == 0, "mkdir: \(errno)")
    return file(name)
  }

  /// What is in it, in order.
  var names: [String] { Self.names(in: path).sorted() }

  /// What is in a folder.
  static func names(in path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Removes a folder and what is in it. Links are removed themselves, and not what they lead to.
  private static func remove(_ path: String) {
    for name in names(in: path) where unlink(path + "/" + name) != 0 { remove(path + "/" + name) }
    rmdir(path)
  }
}
