// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// One registration of one client: the call to make and what keeps its context alive. Ends with its last reference,
// so a registration that is replaced during its own callback ends when that callback has returned.

internal import Glibc

/// A C client's callback. `stream` is the stream itself, unretained and valid during the call; `info` is the context's.
///
/// `event` is the raw value of the one ``StreamEvent`` that happened, as in CF: a C function type cannot mention a Swift
/// enum. (6.3.1 would let it mention a `@c` enum, but other modules then read its cases wrongly.)
///
/// It is called on the thread of the event base that the stream is scheduled on. See ``ReadStream/fromOpaque(_:)`` and
/// ``WriteStream/fromOpaque(_:)``.
///
/// Corresponds to `CFReadStreamClientCallBack` and `CFWriteStreamClientCallBack`.
public typealias StreamClientCallback =
  @convention(c) @Sendable (
    _ stream: OpaquePointer, _ event: StreamEvent.RawValue, _ info: UnsafeMutableRawPointer?
  ) -> Void

/// A registered client of a stream.
///
/// `@unchecked Sendable`: a registration is called on one thread at a time (a half never overlaps its callbacks), and
/// what a subclass holds was handed over by a `sending` parameter or belongs to a C caller who promises as much.
class StreamClient: @unchecked Sendable {
  /// Tells the client one event. No lock may be held. `stream` is the one that the client was made for.
  func tell(_ stream: SocketStream, _ event: StreamEvent) {}

  /// The client's own words about its context, if it has any.
  var contextDescription: String? { nil }
}

/// A closure for the events of a read stream.
final class ReadHandler: StreamClient, @unchecked Sendable {
  private let handler: (ReadStream, StreamEvent) -> Void

  init(_ handler: sending @escaping (ReadStream, StreamEvent) -> Void) { self.handler = handler }

  override func tell(_ stream: SocketStream, _ event: StreamEvent) {
    unsafe handler(unsafeDowncast(stream, to: ReadStream.self), event)
  }
}

/// A closure for the events of a write stream.
final class WriteHandler: StreamClient, @unchecked Sendable {
  private let handler: (WriteStream, StreamEvent) -> Void

  init(_ handler: sending @escaping (WriteStream, StreamEvent) -> Void) { self.handler = handler }

  override func tell(_ stream: SocketStream, _ event: StreamEvent) {
    unsafe handler(unsafeDowncast(stream, to: WriteStream.self), event)
  }
}

/// A C callback and its context.
@safe
final class CallbackClient: StreamClient, @unchecked Sendable {
  private let callback: StreamClientCallback
  private let info: UnsafeMutableRawPointer?
  private let release: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?
  private let copyDescription: (@convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutablePointer<CChar>?)?

  /// Retains the context's info, so the caller must hold no lock.
  init(_ callback: StreamClientCallback, _ context: StreamClientContext) {
    unsafe self.callback = callback
    if unsafe context.info == nil {
      unsafe info = nil
      unsafe release = nil
    } else {
      unsafe info = context.retain.map { unsafe $0(context.info) } ?? context.info
      unsafe release = context.release
    }
    unsafe copyDescription = context.copyDescription
  }

  deinit { unsafe release?(info) }

  override func tell(_ stream: SocketStream, _ event: StreamEvent) {
    unsafe callback(OpaqueStream.lend(stream), event.rawValue, info)
  }

  override var contextDescription: String? {
    guard let text = unsafe copyDescription?(info) else { return nil }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }
}
