// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Memory that reads and writes use again and again.

/// A piece of memory that lives as long as this object.
///
/// `@unchecked Sendable`: used by one operation at a time.
final class Memory: @unchecked Sendable {
  let bytes: UnsafeMutableRawBufferPointer

  init(byteCount: Int) {
    bytes = .allocate(byteCount: byteCount, alignment: 64)
    bytes.initializeMemory(as: UInt8.self, repeating: 0x2E)
  }

  deinit { bytes.deallocate() }
}
