// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

internal import Glibc
internal import SocketStreams

/// A file in NSS's key log format. It is opened for each line, so that a context that is kept holds no descriptor,
/// and that the file can be moved away meanwhile.
struct KeyLog: Sendable {
  private let path: String

  /// - Throws: `StreamError.TLS.badSettings` if the file cannot be written.
  init(_ path: String) throws(StreamError) {
    self.path = path
    let fd = openFile()
    guard fd >= 0 else {
      throw .badSettings("the key log cannot be written: \(StreamError.posix(errno, "open \(path)"))")
    }
    close(fd)
  }

  /// Appends a line in one write, so that lines of several processes do not mix. A failure is nobody's.
  func append(_ line: [UInt8]) {
    let fd = openFile()
    guard fd >= 0 else { return }
    unsafe (line + [0x0A]).withUnsafeBytes { _ = unsafe write(fd, $0.baseAddress, $0.count) }
    close(fd)
  }

  /// Without waiting for the reader of a pipe.
  private func openFile() -> Int32 {
    unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o600)
  }
}

#endif
