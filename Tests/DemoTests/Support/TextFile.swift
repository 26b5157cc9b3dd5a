// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Glibc

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
