// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the system knows of this process.
import Glibc

/// How many descriptors are open. Of use only in a process that does nothing else meanwhile.
func openDescriptorCount() -> Int { entries(of: "/proc/self/fd").count - 1 }

/// The names of the process's threads.
func threadNames() -> [String] {
  entries(of: "/proc/self/task").compactMap { id in
    guard let file = fopen("/proc/self/task/\(id)/comm", "r") else { return nil }
    defer { fclose(file) }
    var line = [UInt8](repeating: 0, count: 64)
    let count = fread(&line, 1, line.count, file)
    return String(decoding: line.prefix(max(0, count - 1)), as: UTF8.self)
  }
}

private func entries(of path: String) -> [String] {
  guard let directory = opendir(path) else { return [] }
  defer { closedir(directory) }
  var names: [String] = []
  while let entry = readdir(directory) {
    let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    if name != "." && name != ".." { names.append(name) }
  }
  return names
}
