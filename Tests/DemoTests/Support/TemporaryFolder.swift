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

  deinit {
    guard let folder = opendir(path) else { return }
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      unlink(path + "/" + name)
    }
    closedir(folder)
    rmdir(path)
  }

  /// The path of a file in the folder.
  func file(_ name: String) -> String { path + "/" + name }
}
