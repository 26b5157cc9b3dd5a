// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Files that commands read from and write to. Blocking: each is used on a thread that may wait.

import Glibc

/// The `errno`s that the program itself has an opinion on.
enum Errno {
  static let timedOut = ETIMEDOUT
  static let brokenPipe = EPIPE
}

/// A file to read from, or standard input.
final class InputFile: Sendable {
  /// What one read brought.
  enum Piece: Sendable {
    case bytes([UInt8])
    case end
    case failed(Int32)
  }

  private static let pieceSize = 262_144

  private let fd: Int32
  /// Whether each reader can have a position of its own.
  let isSeekable: Bool
  /// How long it is, if it is a file that knows.
  let count: Int?

  /// Opens `path`; `-` is standard input.
  /// - Throws: `OutputFailure.failed` with the `errno`.
  init(_ path: String) throws(OutputFailure) {
    fd = path == "-" ? StandardStreams.input : unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard fd >= 0 else { throw .failed(errno) }
    var status = stat()
    let isFile = unsafe fstat(fd, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    if status.st_mode & S_IFMT == S_IFDIR {
      close(fd)
      throw .failed(EISDIR)
    }
    // Standard input may be a file that was read in part: then its position counts, and its length does not.
    isSeekable = isFile && path != "-"
    count = isSeekable ? Int(status.st_size) : nil
  }

  deinit { if fd != StandardStreams.input { close(fd) } }

  /// The next piece; `offset` is where, if the file is seekable.
  func read(at offset: Int) -> Piece {
    var bytes = [UInt8](repeating: 0, count: Self.pieceSize)
    while true {
      // The pointer is used during the call only.
      let count = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe isSeekable
          ? pread(fd, buffer.baseAddress, buffer.count, off_t(offset))
          : Glibc.read(fd, buffer.baseAddress, buffer.count)
      }
      if count > 0 { return .bytes(Array(bytes[..<count])) }
      if count == 0 { return .end }
      switch errno {
      case EINTR: continue
      // Whoever shares a terminal or a pipe may have it not block.
      case EAGAIN: StandardStreams.wait(for: POLLIN, on: fd)
      default: return .failed(errno)
      }
    }
  }
}

/// A file to write to, or standard output.
final class OutputFile {
  private let fd: Int32
  private let path: String
  /// Whether it was not there before.
  private let isNew: Bool
  private var hasStarted = false

  /// What messages call it.
  var name: String { path == "-" ? "standard output" : path }

  /// Opens `path`, without touching what is in it; `-` is standard output.
  init(_ path: String) throws(OutputFailure) {
    self.path = path
    guard path != "-" else {
      (fd, isNew) = (StandardStreams.output, false)
      return
    }
    let flags = O_WRONLY | O_CLOEXEC
    let new = unsafe open(path, flags | O_CREAT | O_EXCL, 0o666)
    isNew = new >= 0
    fd = isNew ? new : unsafe open(path, flags)
    guard fd >= 0 else { throw .failed(errno) }
  }

  /// Adds `bytes`. The first call takes the place of what was in the file.
  func write(_ bytes: [UInt8]) throws(OutputFailure) {
    try start()
    try StandardStreams.write(bytes, to: fd)
  }

  /// Ends the file. One that was made for nothing is removed again.
  ///
  /// - Parameter keep: Whether it is to be there even if it is empty.
  func finish(keep: Bool) throws(OutputFailure) {
    guard fd != StandardStreams.output else { return }
    if keep { try start() }
    if !hasStarted, isNew { _ = unsafe unlink(path) }
    guard close(fd) == 0 else { throw .failed(errno) }
  }

  private func start() throws(OutputFailure) {
    guard !hasStarted else { return }
    hasStarted = true
    // A pipe or a device has no length to take away.
    let isShort = fd == StandardStreams.output || ftruncate(fd, 0) == 0 || errno == EINVAL
    guard isShort else { throw .failed(errno) }
  }
}

extension String {
  /// The last part of a path, for the progress line.
  var withoutFolders: String { split(separator: "/").last.map(String.init) ?? self }
}

/// The sockets of this process.
enum OpenSockets {
  /// How many descriptors are sockets.
  static var count: Int {
    guard let folder = unsafe opendir("/proc/self/fd") else { return 0 }
    defer { unsafe closedir(folder) }
    var count = 0
    while let entry = unsafe readdir(folder) {
      // The name is closed by a zero, within the entry, which is valid until the next call.
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
        unsafe String(cString: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
      }
      if let fd = Int32(name), isSocket(fd) { count += 1 }
    }
    return count
  }

  /// The count, once it is `count` or a second has passed: the library closes some on threads of its own, soon.
  static func settled(at count: Int) -> Int {
    for _ in 0..<200 where self.count > count { poll(nil, 0, 5) }
    return self.count
  }

  private static func isSocket(_ fd: Int32) -> Bool {
    var status = stat()
    return unsafe fstat(fd, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
  }
}
