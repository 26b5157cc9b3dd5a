// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Streams as the opaque pointers that C callbacks get: a @convention(c) type cannot mention a Swift class.

enum OpaqueStream {
  /// The stream as a pointer, unretained: valid while the caller holds the stream.
  static func lend<Stream: AnyObject>(_ stream: Stream) -> OpaquePointer {
    unsafe OpaquePointer(Unmanaged.passUnretained(stream).toOpaque())
  }

  /// The stream behind a pointer that ``lend(_:)`` made.
  static func take<Stream: AnyObject>(_ pointer: OpaquePointer, as type: Stream.Type) -> Stream {
    unsafe Unmanaged<Stream>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
  }
}
