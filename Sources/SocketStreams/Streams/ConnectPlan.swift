// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a pair that has yet to be connected knows about it. Apart from the endpoint, so that a pair on a socket that
// exists does not pay for it.

/// Where to connect to, how, and what came of it so far.
///
/// `@unchecked Sendable`: guarded by the endpoint's lock.
final class ConnectPlan: @unchecked Sendable {
  let target: ConnectTarget
  var options: ConnectionOptions
  /// The addresses that failed, in order.
  var attempts: [ConnectAttempt] = []
  /// When everything has to be done that makes the connection, in monotonic nanoseconds; `nil` for no limit.
  private(set) var deadline: UInt64?
  /// Counts the connecting that was given up, so that its outcome is not taken for that of the next.
  private(set) var round = 0
  private var connector: Connector?

  init(_ target: ConnectTarget, _ options: ConnectionOptions) {
    self.target = target
    self.options = options
  }

  var host: String? { if case .host(let host, _) = target { host } else { nil } }

  /// Who the peer is said to be: the host as it was given, or the address as text without its port; `nil` for a path.
  var peerName: String? {
    switch target {
    case .host(let host, _): host
    case .address(let address): address.ip
    }
  }

  var port: UInt16? {
    switch target {
    case .host(_, let port): port
    case .address(let address): address.port
    }
  }

  /// Why connecting makes no sense, if it does not.
  var misuse: StreamError? {
    guard case .host(let host, let port) = target else { return nil }
    if host.isEmpty { return .misuse(.badAddress, "the host is empty") }
    return port == 0 ? .misuse(.badAddress, "the port 0 cannot be connected to") : nil
  }

  func makeConnector(for endpoint: Endpoint) -> Connector {
    attempts = []
    deadline = options.connectTimeout.map { SystemCalls.monotonicNow() &+ $0.clampedNanoseconds }
    let round = round
    let connector = Connector(
      target, options: options,
      onAttempt: { [weak endpoint] address, code in
        guard let code else { return }  // it begins
        endpoint?.attemptFailed(ConnectAttempt(address: address, code: code))
      },
      completion: { [weak endpoint] outcome in
        if let endpoint { return endpoint.connectorFinished(outcome, round: round) }
        // Closed and dropped at the very moment at which the connection was made.
        if case .connected(let fd, _) = outcome { SystemCalls.close(fd) }
      })
    self.connector = connector
    return connector
  }

  /// Nobody waits for the connection any more.
  /// - Returns: What to cancel once the lock is free.
  func giveUpConnector() -> Connector? {
    round += 1
    return connector.take()
  }

  func connectorIsDone() { connector = nil }
}
