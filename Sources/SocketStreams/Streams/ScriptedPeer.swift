// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A peer made of calls, to test what a client does: no descriptor, no timing, every fault on demand.

/// The other side of a pair, played by a test.
///
/// The pair's streams behave as on a socket: the same statuses, events, order and errors.
///
/// ```swift
/// let (pair, peer) = StreamPair.scripted()
/// pair.input.setClient(.all) { stream, event in log.append(event) }
/// pair.input.schedule(on: base)
/// pair.input.open()
/// peer.completeOpening()
/// peer.send(Array("hello".utf8))
/// peer.end()
/// ```
///
/// Any thread may call it.
public final class ScriptedPeer: Sendable {
  private let transport: ScriptedTransport
  private let endpoint: Endpoint

  fileprivate init(_ transport: ScriptedTransport, _ endpoint: Endpoint) {
    self.transport = transport
    self.endpoint = endpoint
  }

  private func change<R>(_ body: (ScriptedTransport) -> R) -> R {
    endpoint.lock.withLock {
      defer { transport.signal() }
      return body(transport)
    }
  }

  /// Lets a pair open that was made with `opensAtOnce: false`.
  public func completeOpening() { endpoint.lock.withLock { transport.finishOpening(nil) } }

  /// Makes the opening fail.
  public func failOpening(_ error: StreamError) { endpoint.lock.withLock { transport.finishOpening(error) } }

  /// Bytes arrive.
  public func send(_ bytes: [UInt8]) {
    change { unsafe $0.arrived.append(bytes.span.bytes) }
  }

  /// The end arrives, behind the bytes.
  public func end() { change { $0.isEnded = true } }

  /// The connection breaks with an `errno`; bytes that have arrived are read first.
  public func fail(_ code: Int32) { change { $0.failure = code } }

  /// The peer takes `count` bytes more, and then no others until it is told to. Without a call it takes all.
  public func accept(_ count: Int) { change { $0.acceptance = count } }

  /// No read takes more than `count` bytes, 1 or more.
  public func limitReads(to count: Int) { change { $0.largestRead = max(count, 1) } }

  /// No write takes more than `count` bytes, 1 or more.
  public func limitWrites(to count: Int) { change { $0.largestWrite = max(count, 1) } }

  /// What the stream's writes brought the peer so far.
  public var received: [UInt8] { endpoint.lock.withLock { transport.sent } }

  /// Whether the write stream has ended its direction.
  public var hasSeenEnd: Bool { endpoint.lock.withLock { transport.isSendingFinished } }
}

extension StreamPair {
  /// A pair whose peer is a script.
  /// - Parameter opensAtOnce: Whether `open` completes by itself; otherwise ``ScriptedPeer/completeOpening()`` does it.
  public static func scripted(opensAtOnce: Bool = true) -> (pair: StreamPair, peer: ScriptedPeer) {
    let transport = ScriptedTransport(opensAtOnce: opensAtOnce)
    let endpoint = Endpoint(transport, ownsDescriptor: true)
    return (StreamPair(endpoint), ScriptedPeer(transport, endpoint))
  }
}
