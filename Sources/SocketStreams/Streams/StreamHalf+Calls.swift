// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the owner of a stream calls, on any thread. Each function takes the lock and gives it back.

extension StreamHalf {
  var status: StreamStatus { endpoint.lock.withLock { lifecycle.status } }

  /// The failure behind the status `error`. The lock is held.
  var error: StreamError? { lifecycle.status == .error ? endpoint.failure : nil }

  func open(_ stream: SocketStream) -> Bool {
    endpoint.lock.lock()
    let (isOpening, connector) = beginOpening()
    changed(by: stream)
    connector?.start()
    return isOpening
  }

  /// Opens both halves at once: were there time between, a client of the first that closes both on another thread would
  /// find the second not open yet, and leave it as it is.
  static func open(_ pair: StreamPair) -> Bool {
    let (first, second) = (pair.input.half, pair.output.half)
    first.endpoint.lock.lock()
    let outcomes = (first.beginOpening(), second.beginOpening())
    first.changed(by: pair.input)
    second.endpoint.lock.lock()
    second.changed(by: pair.output)
    (outcomes.0.connector ?? outcomes.1.connector)?.start()
    return outcomes.0.isOpening && outcomes.1.isOpening
  }

  /// The lock is held; ``changed(by:)`` and the start of the connector follow.
  private func beginOpening() -> (isOpening: Bool, connector: Connector?) {
    guard !isGone, lifecycle.open() else { return (false, nil) }
    let connector = endpoint.open(self)
    return (lifecycle.status != .error, connector)
  }

  /// Ends the half: closed by its owner, or dropped.
  func close(isDropped: Bool) {
    endpoint.lock.lock()
    if isGone || (lifecycle.status == .notOpen && !isDropped) { return endpoint.lock.unlock() }
    // What was queued since, while the connection was being made.
    if endpoint.sides.isAborted { endpoint.transport.dropQueue() }
    let wasOpening = lifecycle.status == .opening
    lifecycle.closeRequested()
    isGone = true
    let base = home
    home = nil
    let connector = wasOpening ? endpoint.closedWhileOpening() : nil
    willLeave()
    endpoint.signalWaiters()
    changed(by: nil)
    connector?.cancel()
    withExtendedLifetime(base) {}
  }

  func schedule(on base: EventBase, _ stream: SocketStream) {
    endpoint.lock.lock()
    if home === base || isGone || lifecycle.isOver || base.loop.hasEnded { return endpoint.lock.unlock() }
    let previous = home
    home = base
    changed(by: stream)
    withExtendedLifetime(previous) {}
  }

  func unschedule(from base: EventBase) {
    endpoint.lock.lock()
    guard home === base else { return endpoint.lock.unlock() }
    home = nil
    changed(by: nil)
  }

  func setClient(_ events: StreamEvents, _ client: StreamClient?, _ stream: SocketStream) {
    endpoint.lock.lock()
    let previous = replaceClient(client)
    lifecycle.clientChanged(client == nil ? [] : events)
    changed(by: stream)
    withExtendedLifetime(previous) {}
  }

  /// Status, peer and client, for people.
  func describe(_ stream: SocketStream) -> String {
    endpoint.lock.lock()
    let status = lifecycle.status
    let place = endpoint.peerDescription
    let client = self.client
    let error = self.error
    endpoint.lock.unlock()
    var text = "\(type(of: stream)) \(status)\(place.map { " " + $0 } ?? "")"
    if let error { text += " (\(error))" }
    // The C client's own words are asked for without the lock.
    if let client { text += ", client \(client.contextDescription ?? "set")" }
    return text
  }
}
