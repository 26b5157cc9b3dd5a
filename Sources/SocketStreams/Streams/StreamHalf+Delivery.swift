// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Calling the client, on the thread of the half's loop. The hot path: with nothing else to do, a round trip gets through
// here without counting a reference, and takes the lock twice.

extension StreamHalf {
  func service(on loop: EventLoop, thenSibling: Bool) {
    endpoint.lock.lock()
    if wokenLoop === loop { wokenLoop = nil }
    if hasNews {
      hasNews = false
      look()
    }
    deliver(on: loop, thenSibling: thenSibling)
  }

  /// Calls the client with what is due, each event once, and puts the half's events in order. Gives the lock back.
  /// - Parameters:
  ///   - loop: The loop whose thread this is; `nil` for the one that the half's events are on.
  ///   - thenSibling: Whether the other half follows, if one of the calls made something due for it: in the same pass
  ///     of the loop, so that no other event of the loop comes between, and no system call.
  func deliver(on loop: EventLoop? = nil, thenSibling: Bool = true) {
    guard !isDelivering else { return endpoint.lock.unlock() }
    var served: StreamEvents = []
    // Both references stay while `isDelivering` is set.
    while isHome(on: loop), let client = client.map({ Uncounted($0) }),
      let stream = keptStream.map({ Uncounted($0) }), let event = lifecycle.nextEvent(except: served)
    {
      served.insert(StreamEvents(event))
      isDelivering = true
      endpoint.isServing = thenSibling
      endpoint.lock.unlock()
      client.use { client in stream.use { stream in client.tell(stream, event) } }
      endpoint.lock.lock()
      // Its end may run code of the owner that closes this stream, or sets yet another client.
      while retired != nil { dropRetired() }
      isDelivering = false
      endpoint.isServing = false
      if loop == nil || loop === installed, isAtRest(watching: watchWhenSeated) {
        return endpoint.isSiblingDue ? deliverSibling() : endpoint.lock.unlock()
      }
    }
    settleBoth(on: loop ?? installed)
  }

  /// The other half, on the same loop, has something to tell. Gives the lock back.
  private func deliverSibling() {
    endpoint.isSiblingDue = false
    guard endpoint.areTogether, let sibling = endpoint.sibling(of: self) else {
      return endpoint.lock.unlock()
    }
    // It is registered on this thread's loop, and kept by its stream while its client is called.
    Uncounted(sibling).use { $0.deliver(thenSibling: false) }
  }

  /// Puts this half's events in order and serves the other half, if that became due. Gives the lock back.
  @inline(never)
  private func settleBoth(on loop: EventLoop?) {
    let sibling = endpoint.isSiblingDue ? endpoint.sibling(of: self) : nil
    endpoint.isSiblingDue = false
    if loop === installed, isAtRest(watching: watchWhenSeated) {
      endpoint.lock.unlock()
    } else {
      finish(settle(on: loop))
    }
    if let sibling, let loop { sibling.service(on: loop, thenSibling: false) }
  }

  /// Whether the client may be called on `loop`. While another loop has the half's events still, it may not: that
  /// loop has been asked to let go, and would find the half delivering and leave it at that.
  @inline(__always)
  private func isHome(on loop: EventLoop?) -> Bool {
    loop == nil ? isSeated : home?.loop === loop && (installed == nil || installed === loop)
  }

  /// Sets the client.
  /// - Returns: The registration that ended with that; let go of it with the lock free.
  func replaceClient(_ client: StreamClient?) -> StreamClient? {
    let previous = self.client
    self.client = client
    guard isDelivering, retired == nil else { return previous }
    retired = previous
    return nil
  }

  private func dropRetired() {
    let last = retired.take()
    endpoint.lock.unlock()
    _ = consume last
    endpoint.lock.lock()
  }
}
