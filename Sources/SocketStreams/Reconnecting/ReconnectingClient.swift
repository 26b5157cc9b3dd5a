// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Staying connected: what a client that reconnects is to its owner. What it does is in Reconnector.swift, when it tries
// again in Logic/ReconnectSchedule.swift.

/// What a ``ReconnectingClient`` tells its owner.
public enum ReconnectEvent: Sendable {
  /// An attempt begins, the `attempt`th in a row, 1 or more: since the start, the last connection or a connect by hand.
  case connecting(attempt: Int)
  /// There is a connection. Its streams are open, have no client and are scheduled nowhere: set the clients and schedule
  /// them, on any base, as with a pair of your own. They are told all that happened, ``StreamEvent/openCompleted`` first.
  /// A pair that is not kept is closed, and the next attempt follows after a while.
  case connected(StreamPair)
  /// The next attempt begins after this time: because the last one failed with the error, or, without an error, because
  /// the connection is over.
  case waiting(Duration, after: StreamError?)
  /// ``ReconnectPolicy/attempts`` in a row have failed, the last one with this error. The client is stopped.
  case gaveUp(StreamError)
}

/// Keeps a connection to one place: connects, hands over the streams, and when they are closed connects again.
///
/// ```swift
/// let client = ReconnectingClient(on: base, makePair: { StreamPair(host: "chat.example", port: 1025) }) { _, event in
///   if case .connected(let pair) = event { chat.begin(on: pair) }
/// }
/// client.start()
/// ```
///
/// The connection is over, for the client, when both its streams have been closed, dropped or aborted, whoever did that,
/// and what was written has left. A stream that has ended or failed is not over until its owner closes it, which is
/// therefore the owner's way to say that it has seen enough: only then does the wait for the next attempt begin. There
/// is never more than one attempt or connection at a time.
///
/// Any thread may call any function. The handler is called on the thread of the base, one call at a time, and never
/// inside one of the owner's own calls. It may keep what it likes but the client itself, which it is handed. A client
/// that is dropped is stopped. On a base that has ended, nothing happens; one that ends while the client runs stops it.
public final class ReconnectingClient: Sendable {
  private let base: EventBase
  private let reconnector: Reconnector

  /// Makes a client that is stopped.
  /// - Parameters:
  ///   - base: On whose thread attempts are made and `handler` is called.
  ///   - policy: How long to wait between attempts, and how many to make.
  ///   - makePair: Makes the streams of the next attempt, not yet opened, without clients and scheduled nowhere; called
  ///     on the thread of the base. Set ``ConnectionOptions/connectTimeout`` for a host that may not answer at all: it
  ///     is up to the kernel otherwise, which tries for two minutes.
  ///   - handler: Told what happens.
  public init(
    on base: EventBase, policy: ReconnectPolicy = ReconnectPolicy(),
    makePair: @escaping @Sendable () -> StreamPair,
    handler: sending @escaping (_ client: ReconnectingClient, _ event: ReconnectEvent) -> Void
  ) {
    self.base = base
    reconnector = Reconnector(policy, makePair, handler)
    reconnector.setOwner(self)
  }

  /// Makes a client, which is stopped, for a host; `options` are those of
  /// ``StreamPair/init(host:port:options:)``.
  public convenience init(
    host: String, port: UInt16, options: ConnectionOptions = ConnectionOptions(), on base: EventBase,
    policy: ReconnectPolicy = ReconnectPolicy(),
    handler: sending @escaping (_ client: ReconnectingClient, _ event: ReconnectEvent) -> Void
  ) {
    self.init(
      on: base, policy: policy, makePair: { StreamPair(host: host, port: port, options: options) },
      handler: handler)
  }

  deinit { reconnector.stop() }

  /// Begins to stay connected: the first attempt comes at once. Does nothing if that has begun. A connection that was
  /// handed over before a ``stop()`` and is not over counts as the connection.
  public func start() { reconnector.start(on: base) { $0.startRequested() } }

  /// Connects now: cuts a wait short, or starts a client that is stopped or has given up. The count of failures and the
  /// waits start afresh. An attempt that runs goes on, as the first; a connection stays.
  public func connectNow() { reconnector.start(on: base) { $0.connectRequested() } }

  /// No more attempts: one that runs is given up, a wait ends. A connection that was handed over stays its owner's. Does
  /// nothing if the client is stopped.
  ///
  /// On the thread of the base the handler is not called any more afterwards, until the next ``start()``; from another
  /// thread one call may be under way.
  public func stop() { reconnector.stop() }
}
