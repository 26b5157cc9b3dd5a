// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What read and write streams have in common: status, opening, closing, scheduling, properties.

/// What a ``ReadStream`` and a ``WriteStream`` have in common.
///
/// Any thread may call any function. A client is called on the thread of the base that its stream is scheduled on, one
/// call at a time, never inside one of the owner's own calls, and never with a lock of this library held.
///
/// A stream that is dropped is closed. An open stream that is scheduled is kept alive by its base until it is closed,
/// has delivered its terminal event, or is unscheduled.
///
/// `@unchecked Sendable`: the only stored property is constant and guards itself.
public class SocketStream: @unchecked Sendable, CustomDebugStringConvertible {
  /// The half behind the stream, which a subclass holds.
  var half: StreamHalf { preconditionFailure("a stream is for reading or for writing") }

  init() {}

  /// Where the stream is in its life. Never blocks and never calls a client.
  ///
  /// Corresponds to `CFReadStreamGetStatus` and `CFWriteStreamGetStatus`.
  public final var status: StreamStatus { half.status }

  /// The failure behind ``StreamStatus/error``; `nil` in every other status. Stays after `close`.
  ///
  /// Both halves of a pair report the same failure.
  /// Corresponds to `CFReadStreamCopyError` and `CFWriteStreamCopyError`.
  public final var error: StreamError? { half.endpoint.lock.withLock { half.error } }

  /// Starts opening and returns at once. The outcome is ``StreamEvent/openCompleted`` or
  /// ``StreamEvent/errorOccurred``, or is seen in ``status``.
  ///
  /// The first half opened starts the connection, the second joins it. A connected native socket and a pair in memory
  /// are open on return.
  /// - Returns: `false` if the stream was opened before, which changes nothing, or if it failed at once.
  ///
  /// Corresponds to `CFReadStreamOpen` and `CFWriteStreamOpen`.
  @discardableResult
  public final func open() -> Bool { half.open(self) }

  /// Delivers events on `base`, from a later pass of its loop on. A stream is on one base at a time: scheduling it on
  /// another moves it, and nothing is lost or repeated.
  ///
  /// Allowed before and after `open`, and before and after a client is set, with the same events. Does nothing for a
  /// stream that is closed or has delivered its terminal event.
  ///
  /// Corresponds to `CFReadStreamScheduleWithRunLoop` and `CFWriteStreamScheduleWithRunLoop`.
  public final func schedule(on base: EventBase) { half.schedule(on: base, self) }

  /// Stops delivering on `base`. What happens meanwhile is delivered when the stream is scheduled again. Does nothing
  /// if the stream is not scheduled on `base`.
  ///
  /// On the base's own thread no callback starts afterwards; from another thread one that has begun may finish.
  ///
  /// Corresponds to `CFReadStreamUnscheduleFromRunLoop` and `CFWriteStreamUnscheduleFromRunLoop`.
  public final func unschedule(from base: EventBase) { half.unschedule(from: base) }

  /// Takes the client away and ends its registration. Does nothing if there is none.
  ///
  /// On the base's own thread no callback starts afterwards; from another thread one that has begun may finish, and
  /// its context is released only then.
  ///
  /// Corresponds to `CFReadStreamSetClient` and `CFWriteStreamSetClient` with `NULL`.
  public final func removeClient() { half.setClient([], nil, self) }

  /// Cuts the connection: drops what is queued and what was not read. Over TCP the peer sees a reset. Both halves are
  /// closed, unless they were never opened, and no event follows. A native socket that was lent is left alone, and so is
  /// a pair both of whose streams were closed before: it goes on sending what they had accepted.
  public final func abort() { half.endpoint.abort() }

  /// The value of a property; `nil` if the stream has none.
  ///
  /// Corresponds to `CFReadStreamCopyProperty` and `CFWriteStreamCopyProperty`.
  public final func property<Value>(_ key: StreamProperty<Value>) -> Value? {
    half.endpoint.property(key.name) as? Value
  }

  /// Sets a property, or its default with `nil`.
  /// - Returns: Whether the stream knows the key and took the value. Nothing is broken by a refusal.
  ///
  /// Corresponds to `CFReadStreamSetProperty` and `CFWriteStreamSetProperty`.
  @discardableResult
  public final func setProperty<Value>(_ key: StreamProperty<Value>, to value: Value?) -> Bool {
    half.endpoint.setProperty(key.name, to: value)
  }

  /// The value of an integer socket option, for instance `socketOption(level: SOL_SOCKET, name: SO_RCVBUF)`.
  /// - Throws: `unsupported` without a socket, `ENOPROTOOPT` and its like from the kernel.
  public final func socketOption(level: Int32, name: Int32) throws(StreamError) -> Int32 {
    try half.endpoint.socketOption(level: level, name: name)
  }

  /// Sets an integer socket option.
  /// - Throws: `unsupported` without a socket, `ENOPROTOOPT` and its like from the kernel.
  public final func setSocketOption(level: Int32, name: Int32, to value: Int32) throws(StreamError) {
    try half.endpoint.setSocketOption(level: level, name: name, to: value)
  }

  /// Status, peer and client, for people.
  public final var debugDescription: String { half.describe(self) }
}
