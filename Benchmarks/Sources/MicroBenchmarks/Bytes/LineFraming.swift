// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What does a line cost that is split out of lent bytes?

import Glibc
import SocketStreams

/// `@unchecked Sendable`: used on the base's thread only.
final class LineFraming: Benchmark, @unchecked Sendable {
  static let name = "line-framing"
  static let operation = "a line of some 40 B, split out of what withAvailableBytes lends, 4 KiB at a time"
  private let base: EventBase
  private let pair = StreamPair.bound()
  private let text: Memory
  private var lineCount = 0
  private var longest = 0

  init() throws {
    base = try EventBase()
    text = Self.makeText()
    pair.schedule(on: base)
    pair.open()
  }

  deinit { pair.close() }

  func run(_ count: Int) throws {
    lineCount = 0
    try base.sync {
      while lineCount < count {
        try pair.output.write(UnsafeRawBufferPointer(text.bytes))
        _ = pair.input.withAvailableBytes { bytes in
          bytes.withUnsafeBytes { takeLines($0, until: count) }
        }
      }
      // What follows the last line is not of the next run.
      _ = pair.input.withAvailableBytes { bytes in bytes.byteCount }
    }
    guard longest < 128 else { throw WrongCount() }
  }

  /// - Returns: How many bytes the whole lines have.
  private func takeLines(_ bytes: UnsafeRawBufferPointer, until count: Int) -> Int {
    var used = 0
    while lineCount < count, used < bytes.count,
      let end = memchr(bytes.baseAddress! + used, newline, bytes.count - used)
    {
      let next = UnsafeRawPointer(end) - bytes.baseAddress! + 1
      longest = max(longest, next - used)
      lineCount += 1
      used = next
    }
    return used
  }

  /// Lines of 33 to 47 bytes. The last one is cut off, and goes on in the next text.
  private static func makeText() -> Memory {
    let text = Memory(byteCount: 4096)
    var end = 0
    var length = 0
    while true {
      length = length % 15 + 7
      end += 33 + length % 15
      guard end < text.bytes.count else { return text }
      text.bytes[end - 1] = UInt8(newline)
    }
  }
}

private let newline: CInt = 0x0A
