// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Blocking use of the write half. A waiting thread passes on what is queued itself, so it needs no loop.

extension WriteHalf {
  func waitUntilReady(timeout: Duration?) -> Bool {
    endpoint.wait(for: .writable, timeout: timeout) {
      switch lifecycle.status {
      case .opening: return false
      case .open:
        drainIfPolled()
        return endpoint.transport.acceptsBytes || lifecycle.status != .open
      default: return true
      }
    }
  }

  /// Blocks until nothing is queued.
  func flush(timeout: Duration?) throws(StreamError) -> Bool {
    let isTimely = endpoint.wait(for: .writable, timeout: timeout) {
      guard lifecycle.status == .open || lifecycle.status == .opening else { return true }
      drainIfPolled()
      return endpoint.transport.queuedCount == 0
    }
    if let error = endpoint.lock.withLock({ error }) { throw error }
    return isTimely
  }

  private func drainIfPolled() {
    let transport = endpoint.transport
    if transport.usesDescriptor && (transport.queuedCount > 0 || transport.isBlocked)
      || endpoint.secured?.isMovedByArrivals == true
    {
      drain()
    }
  }
}
