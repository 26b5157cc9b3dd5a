// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the owner of a stream calls, on any thread. Each function takes the lock and gives it back.

extension StreamHalf {
  var status: StreamStatus { endpoint.lock.withLock { lifecycle.status } }

  /// The failure behind the status `error`. The lock is held.
  var error: StreamError? { lifecycle.status == .error ? endpoint.failure : nil }

  func open(_ stream: SocketStream) -> Bool {
    endpoint.lock.lock()
    guard !isGone, lifecycle.open() else {
      endpoint.lock.unlock()
      return false
    }
    let connector = endpoint.open(self)
    let isOpening = lifecycle.status != .error
    changed(by: stream)
    connector?.start()
    return isOpening
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
