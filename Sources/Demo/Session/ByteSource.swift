// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where the bytes to send come from: memory, a file, or standard input, which are read on a thread that may block.

import SocketStreams

/// Bytes to send.
struct ByteSource: Sendable {
  typealias Piece = InputFile.Piece

  private enum Storage: Sendable {
    case memory([UInt8])
    /// A file, and the thread that reads it.
    case file(InputFile, reader: EventBase)
  }

  /// What messages call it.
  let name: String
  /// What is sent after the last piece.
  let suffix: [UInt8]
  private let storage: Storage

  /// Bytes that are there.
  init(_ bytes: [UInt8], suffix: [UInt8]) {
    name = "text"
    self.suffix = suffix
    storage = .memory(bytes)
  }

  /// A file, or standard input for `-`.
  /// - Throws: The `errno`, if it cannot be opened.
  init(file path: String, suffix: [UInt8]) throws(OutputFailure) {
    name = path == "-" ? "standard input" : path
    self.suffix = suffix
    let file = try InputFile(path)
    do {
      storage = .file(file, reader: try EventBase.startThread(named: "input"))
    } catch {
      throw .failed(error.code)
    }
  }

  /// How many bytes there are with the suffix, if that is known.
  var count: Int? {
    switch storage {
    case .memory(let bytes): bytes.count + suffix.count
    case .file(let file, _): file.count.map { $0 + suffix.count }
    }
  }

  /// All bytes with the suffix, if they are in memory.
  var bytes: [UInt8]? { if case .memory(let bytes) = storage { bytes + suffix } else { nil } }

  /// Has `deliver` called with the piece at `offset` of a file, on another thread. Standard input goes on where it is,
  /// whatever the offset.
  func read(at offset: Int, _ deliver: @escaping @Sendable (Piece) -> Void) {
    guard case .file(let file, let reader) = storage else { return deliver(.end) }
    reader.execute { deliver(file.read(at: offset)) }
  }
}
