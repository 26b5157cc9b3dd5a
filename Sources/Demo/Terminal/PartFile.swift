// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A file that gets its name only when it is whole. Blocking: used on a thread that may wait.

import Glibc

/// A file that is `NAME.part` until it is whole, and takes the place of `NAME` then.
final class PartFile {
  /// What it is called in the end, and until then.
  let path: String
  let partPath: String
  /// How many bytes it has.
  private(set) var count = 0
  private var fd: Int32

  /// Makes `path.part`, or empties it if it is there.
  /// - Throws: `OutputFailure.failed` with the `errno`.
  init(_ path: String) throws(OutputFailure) {
    self.path = path
    partPath = path + ".part"
    fd = unsafe open(partPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard fd >= 0 else { throw .failed(errno) }
  }

  deinit { if fd >= 0 { close(fd) } }

  /// Adds `bytes`.
  func write(_ bytes: [UInt8]) throws(OutputFailure) {
    try StandardStreams.write(bytes, to: fd)
    count += bytes.count
  }

  /// Closes the file as it is: it stays `NAME.part`.
  func end() throws(OutputFailure) {
    defer { fd = -1 }
    guard close(fd) == 0 else { throw .failed(errno) }
  }

  /// Closes the file, which is whole, and gives it its name.
  func finish() throws(OutputFailure) {
    try end()
    guard unsafe rename(partPath, path) == 0 else { throw .failed(errno) }
  }

  /// Whether files can be made in `folder`.
  /// - Throws: `OutputFailure.failed` with the `errno` that making one would have.
  static func check(folder: String) throws(OutputFailure) {
    var status = stat()
    guard unsafe stat(folder, &status) == 0 else { throw .failed(errno) }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw .failed(ENOTDIR) }
    guard unsafe access(folder, W_OK | X_OK) == 0 else { throw .failed(errno) }
  }
}
