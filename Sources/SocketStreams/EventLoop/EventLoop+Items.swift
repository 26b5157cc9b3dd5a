// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What lives on a loop: its items and their deadlines. Everything here is for
// the thread that holds the loop.

extension EventLoop {
  /// Keeps `item` until ``unregister(_:)`` or the end of the loop, which it is told.
  func register(_ item: LoopItem) {
    precondition(!hasEnded, "register: the loop has ended")
    inside.state.registry.add(item)
  }

  /// Lets go of `item` and of its deadlines. Does nothing for an item that is not on this loop.
  func unregister(_ item: LoopItem) {
    guard inside.state.registry.remove(item) else { return }
    inside.state.deadlines.remove(item)
  }

  /// Asks `item`, which is registered, for its deadlines from now on, until it answers `nil`. Called again
  /// when its next deadline has become earlier. They are acted on up to 10 ms late, and 10 µs for each item
  /// that has any.
  /// - Parameter deadline: When to ask it first; soon if `nil`.
  func trackDeadlines(of item: LoopItem, earliest deadline: UInt64? = nil) {
    precondition(item.registrySlot >= 0, "track deadlines: the item is not registered")
    inside.state.deadlines.add(item)
    let now = monotonicNow()
    setDeadlineTimer(inside.state.deadlines.ask(at: max(deadline ?? now, now)), now: now)
  }

  /// Asks every item whose deadlines are tracked.
  func scanDeadlines() {
    let now = monotonicNow()
    var earliest = UInt64.max
    var index = 0
    inside.state.deadlines.beginScan(now: now)
    // Items come and go while others act.
    while let place = inside.state.deadlines.item(at: index) {
      index += 1
      guard let item = place else { continue }
      if let next = item.nextDeadline(self, now: now) {
        earliest = min(earliest, next)
      } else {
        inside.state.deadlines.remove(item)
      }
    }
    setDeadlineTimer(inside.state.deadlines.endScan(earliest: earliest), now: now)
  }

  private func setDeadlineTimer(_ time: UInt64?, now: UInt64) {
    guard let time else { return }
    inside.state.deadlineTimer?.add(afterNanoseconds: time > now ? time - now : 0)
  }
}
