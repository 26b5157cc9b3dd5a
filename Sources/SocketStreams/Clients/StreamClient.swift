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

/// A client of whatever stream that may be able to describe its context.
protocol DescribedClient: AnyObject {
  var contextDescription: String? { get }
}

/// A registered client of a stream of type `Stream`.
///
/// `@unchecked Sendable`: a registration is called on one thread at a time (a half never overlaps its callbacks), and
/// what it holds was handed over by a `sending` parameter or belongs to a C caller who promises as much.
@safe
final class StreamClient<Stream: AnyObject & Sendable>: DescribedClient, @unchecked Sendable {
  @safe
  private enum Call {
    case closure((Stream, StreamEvent) -> Void)
    case callback(StreamClientCallback)
  }

  private let call: Call
  private let info: UnsafeMutableRawPointer?
  private let release: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?
  private let copyDescription: (@convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutablePointer<CChar>?)?

  init(_ handler: sending @escaping (Stream, StreamEvent) -> Void) {
    call = .closure(handler)
    unsafe info = nil
    unsafe release = nil
    unsafe copyDescription = nil
  }

  /// Retains the context's info, so the caller must hold no lock.
  init(_ callback: StreamClientCallback, _ context: StreamClientContext) {
    unsafe call = .callback(callback)
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

  /// Tells the client one event. No lock may be held.
  func tell(_ stream: Stream, _ event: StreamEvent) {
    switch call {
    case .closure(let handler): handler(stream, event)
    case .callback(let callback): unsafe callback(OpaqueStream.lend(stream), event.rawValue, info)
    }
  }

  /// The C client's own words about its context.
  var contextDescription: String? {
    guard let text = unsafe copyDescription?(info) else { return nil }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }
}
