// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How the client of `chat` comes to a connection: once, or again and again.

import SocketStreams

extension ChatClient {
  private static let reconnectPolicy = ReconnectPolicy(
    initialDelay: .milliseconds(500), factor: 2, maximumDelay: .seconds(30), jitter: 0)

  func connect() {
    do {
      let pair = try target.makePair()
      guard plan.reconnects else {
        use(pair)
        pair.open()
        return
      }
    } catch {
      return failToConnect(error)
    }
    let client = ReconnectingClient(
      on: base, policy: Self.reconnectPolicy,
      // What could be made once can be made again. If not, it is a pair that does not open, and never one in plain.
      makePair: { [target] in (try? target.makePair()) ?? StreamPair(host: "", port: 0) }
    ) { [self] _, event in
      assumeIsolated { $0.reconnectEvent(event) }
    }
    reconnecting = client
    client.start()
  }

  private func reconnectEvent(_ event: ReconnectEvent) {
    switch event {
    case .connecting(let attempt): tellEvent("attempt number \(attempt)")
    case .connected(let pair): use(pair)
    case .waiting(let delay, let error):
      // It is for connections that break: the first one has to come about.
      if let error, linkNumber == 0 { return failToConnect(error) }
      let reason = error.map { "\($0.domain) \($0.code) \($0.reason), " } ?? ""
      note("\(reason)connecting again in \(Quantities.shortSeconds(delay))")
    case .gaveUp(let error): failToConnect(error)
    }
  }

  func failToConnect(_ error: StreamError) {
    for attempt in error.attempts { tellEvent(attempt.eventLine) }
    fail(Failure(error, during: .connect))
  }
}
