// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The two streams of a connection as `send` and `receive` use them, whoever's types they are, and the library's own.

import Glibc
import SocketStreams

/// Two streams of one connection, and the loop on whose thread all this is called.
protocol ConnectionStreams: AnyObject {
  /// Sets the clients, schedules both streams, and opens them. The clients hear every event.
  func begin(
    input: @escaping @Sendable (StreamEvent) -> Void, output: @escaping @Sendable (StreamEvent) -> Void)
  /// Reads what is there. 0 is the end, `nil` that nothing has come yet.
  func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Int?
  /// Writes what there is room for; `nil` if there is none.
  func write(_ bytes: RawSpan) throws(StreamError) -> Int?
  /// Closes the write stream; the peer sees the end after what was written.
  func closeOutput()
  /// After that: whether the peer's system has acknowledged everything.
  /// - Throws: Why it never will.
  func isDelivered() throws(StreamError) -> Bool
  /// Closes both streams, takes them off the loop, and lets go of the clients; `abruptly` without sending what waits.
  func end(abruptly: Bool)

  var inputError: StreamError? { get }
  var outputError: StreamError? { get }
  /// The addresses that were tried in vain, as far as the streams tell.
  var attempts: [ConnectAttempt] { get }
  var peer: SocketAddress? { get }
  var local: SocketAddress? { get }
  /// What is going on before the streams are open.
  var openingPhase: Phase { get }
  /// What was said in plain before the connection was secured, a line an element.
  var preamble: [String] { get }
  /// What was agreed upon to secure it, in a line, once it was.
  var security: String? { get }
}

extension ConnectionStreams {
  var openingPhase: Phase { .connect }
  var preamble: [String] { [] }
  var security: String? { nil }
}

/// Where streams and the loop for them come from.
protocol StreamFamily: SendableMetatype {
  associatedtype Loop: NetworkLoop

  static func startThread(named name: String) throws(StreamError) -> Loop
}

/// Where ``ConnectionStreams`` come from.
protocol ConnectionFamily: StreamFamily {
  /// Called on the loop's thread.
  static func makeConnection(_ target: Target, on loop: Loop) throws(StreamError) -> any ConnectionStreams
}

/// The library's own streams.
enum OwnStreams: ConnectionFamily {
  static func startThread(named name: String) throws(StreamError) -> EventBase {
    try EventBase.startThread(named: name)
  }

  static func makeConnection(_ target: Target, on base: EventBase) throws(StreamError)
    -> any ConnectionStreams
  {
    OwnConnection(try target.makePair(), base, isUnix: target.isUnix, securedBy: target.security)
  }
}

/// A `StreamPair`.
private final class OwnConnection: ConnectionStreams {
  private let pair: StreamPair
  private let base: EventBase
  private let isUnix: Bool
  private let securing: Security?
  /// Carries out what is said in plain before.
  private var startTLS: StartTLS?

  init(_ pair: StreamPair, _ base: EventBase, isUnix: Bool, securedBy securing: Security?) {
    self.pair = pair
    self.base = base
    self.isUnix = isUnix
    self.securing = securing
  }

  func begin(
    input: @escaping @Sendable (StreamEvent) -> Void, output: @escaping @Sendable (StreamEvent) -> Void
  ) {
    if let securing, let dialogue = securing.dialogue {
      let startTLS = StartTLS(pair, dialogue, securing, on: base, input: input, output: output)
      self.startTLS = startTLS
      return startTLS.assumeIsolated { $0.begin() }
    }
    pair.input.setClient(.all) { _, event in input(event) }
    pair.output.setClient(.all) { _, event in output(event) }
    pair.schedule(on: base)
    pair.open()
  }

  func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Int? {
    try pair.input.read(into: &buffer)
  }

  func write(_ bytes: RawSpan) throws(StreamError) -> Int? { try pair.output.write(bytes) }

  func closeOutput() { pair.output.close() }

  func isDelivered() throws(StreamError) -> Bool {
    let queued = pair.output.property(.queuedByteCount) ?? 0
    if let code = try? pair.input.socketOption(level: SOL_SOCKET, name: SO_ERROR), code != 0 {
      // A server that goes because of a certificate has said so; looking has the stream find out.
      pair.input.withAvailableBytes { _ in 0 }
      if let error = pair.input.error, error.phaseOfSecuring != nil { throw error }
      throw .posix(code, "write")
    }
    return queued == 0 && unacknowledgedCount == 0
  }

  /// What the kernel holds of the output; 0 where it does not tell.
  private var unacknowledgedCount: Int32 {
    // A Unix-domain socket counts what the peer's program has not read: that is not ours to wait for.
    guard !isUnix, let fd = pair.input.property(.socketNativeHandle) else { return 0 }
    return StandardStreams.unsentCount(of: fd)
  }

  func end(abruptly: Bool) {
    if abruptly { pair.abort() }
    pair.close()
    pair.unschedule(from: base)
    pair.input.removeClient()
    pair.output.removeClient()
  }

  var inputError: StreamError? { startTLS?.assumeIsolated { $0.failure } ?? pair.input.error }
  var outputError: StreamError? { pair.output.error }
  var attempts: [ConnectAttempt] { pair.input.property(.connectAttempts) ?? [] }
  var peer: SocketAddress? { pair.input.property(.remoteAddress) }
  var local: SocketAddress? { pair.input.property(.localAddress) }
  var openingPhase: Phase { startTLS?.assumeIsolated { $0.phase } ?? .connect }
  var preamble: [String] { startTLS?.assumeIsolated { $0.transcript } ?? [] }
  var security: String? { pair.input.security }
}
