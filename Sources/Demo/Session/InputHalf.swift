// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A read stream as `cfread` uses it, whoever's type it is, and the library's own.

import SocketStreams

/// A read stream whose other half was declined, and the loop that it is scheduled on when it is.
///
/// Its functions are called on the loop's thread, ``close()`` on any.
protocol InputHalf: AnyObject, Sendable {
  /// Sets the one client; no events, or no callback, remove it.
  /// - Returns: What the stream answers.
  func setClient(_ events: StreamEvents, _ client: ClientInfo, hasCallback: Bool) -> Bool
  func removeClient()
  func schedule()
  func unschedule()
  func open() -> Bool
  func close()

  var status: StreamStatus { get }
  var error: StreamError? { get }
  var hasBytesAvailable: Bool { get }
  /// The addresses that were tried in vain, as far as the stream tells.
  var attempts: [ConnectAttempt] { get }
  var peer: SocketAddress? { get }
  /// What was agreed upon to secure the stream, in a line, once it was.
  var security: String? { get }

  /// Reads what is there. 0 is the end, `nil` that nothing has come yet.
  func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Int?
  /// Reads, and waits until there is something; `nil` if that takes longer than `timeout`.
  func readWaiting(into buffer: inout MutableRawSpan, timeout: Duration) throws(StreamError) -> Int?
}

extension InputHalf {
  var security: String? { nil }
}

/// Where an ``InputHalf`` comes from.
protocol InputFamily: StreamFamily {
  static func makeInput(_ target: Target, on loop: Loop) throws(StreamError) -> any InputHalf
}

extension OwnStreams: InputFamily {
  static func makeInput(_ target: Target, on base: EventBase) throws(StreamError) -> any InputHalf {
    // The write half is declined, as with NULL for it in CF.
    OwnInput(try target.makePair().input, base)
  }
}

/// A `ReadStream`.
private final class OwnInput: InputHalf {
  private let stream: ReadStream
  private let base: EventBase

  init(_ stream: ReadStream, _ base: EventBase) {
    self.stream = stream
    self.base = base
  }

  func setClient(_ events: StreamEvents, _ client: ClientInfo, hasCallback: Bool) -> Bool {
    let callback = unsafe hasCallback ? ClientInfo.readCallback : nil
    return unsafe stream.setClient(events, callback: callback, context: client.context)
  }

  func removeClient() { stream.removeClient() }
  func schedule() { stream.schedule(on: base) }
  func unschedule() { stream.unschedule(from: base) }
  func open() -> Bool { stream.open() }
  func close() { stream.close() }

  var status: StreamStatus { stream.status }
  var error: StreamError? { stream.error }
  var hasBytesAvailable: Bool { stream.hasBytesAvailable }
  var attempts: [ConnectAttempt] { stream.property(.connectAttempts) ?? [] }
  var peer: SocketAddress? { stream.property(.remoteAddress) }
  var security: String? { stream.security }

  func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Int? { try stream.read(into: &buffer) }

  func readWaiting(into buffer: inout MutableRawSpan, timeout: Duration) throws(StreamError) -> Int? {
    while stream.waitUntilReady(timeout: timeout) {
      if let count = try stream.read(into: &buffer) { return count }
    }
    return nil
  }
}
