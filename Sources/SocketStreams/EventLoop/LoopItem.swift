// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What lives on a loop: a half of a stream, a listener, a timer, a signal.

/// Something that lives on a loop and is on at most one loop's registry at a time.
///
/// `@unchecked Sendable`: the two slots belong to the thread of the loop that the item is registered on; each
/// subclass adds the proof for its own state.
class LoopItem: EventTarget, @unchecked Sendable {
  /// The place in the registry, −1 outside it. Owned by ``ItemRegistry``.
  final var registrySlot: Int32 = -1
  /// The place among the items with deadlines, −1 outside. Owned by ``DeadlineList``.
  final var deadlineSlot: Int32 = -1

  /// Called once for each ``EventLoop/wake(_:)``, on the loop's thread, no lock held.
  func service(on loop: EventLoop) {}

  /// The loop ends: free every event on it now. Called on its thread, or while nobody runs it; no lock held.
  /// The item is off the registry already, and gets no further call from this loop.
  func loopWillEnd(_ loop: EventLoop) {}

  /// Acts on the deadlines that have passed at `now` (monotonic nanoseconds), on the loop's thread, no lock
  /// held.
  /// - Returns: The next one, or `nil` to be asked no more until ``EventLoop/trackDeadlines(of:earliest:)``.
  func nextDeadline(_ loop: EventLoop, now: UInt64) -> UInt64? { nil }
}

/// The items on one loop, in no order. A value of the loop's thread.
struct ItemRegistry {
  private var items: [LoopItem] = []

  var last: LoopItem? { items.last }

  mutating func add(_ item: LoopItem) {
    precondition(item.registrySlot < 0, "register: the item is on a loop already")
    item.registrySlot = Int32(items.count)
    items.append(item)
  }

  /// Removes `item`, putting the last one into its place.
  /// - Returns: Whether it was there.
  @discardableResult
  mutating func remove(_ item: LoopItem) -> Bool {
    let slot = Int(item.registrySlot)
    guard slot >= 0, slot < items.count, items[slot] === item else { return false }
    let last = items.removeLast()
    if last !== item {
      items[slot] = last
      last.registrySlot = Int32(slot)
    }
    item.registrySlot = -1
    return true
  }
}
