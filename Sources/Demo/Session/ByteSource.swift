// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where the bytes to send come from: memory, a file, or standard input, which are read on a thread that may block.

import SocketStreams

/// Bytes to send.
struct ByteSource: Sendable {
  typealias Piece = InputFile.Piece

  /// What messages call it.
  let name: String
  /// What is sent after the last piece.
  let suffix: [UInt8]
  private let memory: [UInt8]
  // Not cases of one enum: a pointer that says also which case it is of is not found by the leak sanitizer.
  private let file: InputFile?
  /// The thread that reads the file.
  private let reader: EventBase?

  /// Bytes that are there.
  init(_ bytes: [UInt8], suffix: [UInt8]) {
    name = "text"
    self.suffix = suffix
    memory = bytes
    (file, reader) = (nil, nil)
  }

  /// A file, or standard input for `-`.
  /// - Throws: The `errno`, if it cannot be opened.
  init(file path: String, suffix: [UInt8]) throws(OutputFailure) {
    name = path == "-" ? "standard input" : path
    self.suffix = suffix
    memory = []
    file = try InputFile(path)
    do {
      reader = try EventBase.startThread(named: "input")
    } catch {
      throw .failed(error.code)
    }
  }

  /// How many bytes there are with the suffix, if that is known.
  var count: Int? {
    guard let file else { return memory.count + suffix.count }
    return file.count.map { $0 + suffix.count }
  }

  /// All bytes with the suffix, if they are in memory.
  var bytes: [UInt8]? { file == nil ? memory + suffix : nil }

  /// Has `deliver` called with the piece at `offset` of a file, on another thread. Standard input goes on where it is,
  /// whatever the offset.
  func read(at offset: Int, _ deliver: @escaping @Sendable (Piece) -> Void) {
    guard let file, let reader else { return deliver(.end) }
    reader.execute { deliver(file.read(at: offset)) }
  }
}
