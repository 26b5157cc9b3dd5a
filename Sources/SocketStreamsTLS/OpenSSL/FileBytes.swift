// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Reading small files whole: certificates and keys. Called by whoever makes settings, never by a loop.

#if TLS

internal import Glibc
internal import SocketStreams

/// A file's content.
enum FileBytes {
  /// More than any certificates and keys have.
  static let limit = 16 * 1_048_576

  /// Everything in the file at `path`. Waits for the disk, but for nobody who might write into a pipe.
  static func read(_ path: String) throws(StreamError) -> [UInt8] {
    let operation = "read \(path)"
    guard !path.utf8.contains(0) else { throw .posix(EINVAL, operation) }
    let fd = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard fd >= 0 else { throw .posix(errno, operation) }
    defer { close(fd) }
    var status = stat()
    guard unsafe fstat(fd, &status) == 0 else { throw .posix(errno, operation) }
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: throw .posix(EISDIR, operation)
    default: throw .tls(.badCertificate, operation, detail: "this is no regular file")
    }
    return try read(fd, operation)
  }

  private static func read(_ fd: Int32, _ operation: String) throws(StreamError) -> [UInt8] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = unsafe piece.withUnsafeMutableBytes { unsafe Glibc.read(fd, $0.baseAddress, $0.count) }
      if count == 0 { return bytes }
      if count < 0 {
        guard errno == EINTR else { throw .posix(errno, operation) }
        continue
      }
      bytes += piece[..<count]
      guard bytes.count <= limit else {
        throw .tls(.badCertificate, operation, detail: "the file is larger than 16 MiB")
      }
    }
  }
}

#endif
