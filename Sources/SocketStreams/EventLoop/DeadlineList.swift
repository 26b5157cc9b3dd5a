// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// One coarse timer for all the deadlines of a loop: items are asked when the earliest may have come.

/// The items with deadlines on one loop, and when to ask them. A value of the loop's thread.
struct DeadlineList {
  /// Scans are at least this far apart, in nanoseconds: 10 ms, or 10 µs an item, so that scanning takes about
  /// 1 % at most.
  var granularity: UInt64 { max(10_000_000, UInt64(items.count) * 10_000) }

  /// `nil` is the place of an item that left during a scan.
  private var items: [LoopItem?] = []
  private var isScanning = false
  private var earliestAsked = UInt64.max
  private var lastScan: UInt64 = 0
  private var alarm = UInt64.max

  mutating func add(_ item: LoopItem) {
    guard item.deadlineSlot < 0 else { return }
    item.deadlineSlot = Int32(items.count)
    items.append(item)
  }

  mutating func remove(_ item: LoopItem) {
    let slot = Int(item.deadlineSlot)
    guard slot >= 0, slot < items.count, items[slot] === item else { return }
    item.deadlineSlot = -1
    if isScanning {
      items[slot] = nil
    } else {
      fill(slot)
    }
  }

  /// Something may be due at `deadline`.
  /// - Returns: When to set the timer to, if it has to be set anew.
  mutating func ask(at deadline: UInt64) -> UInt64? {
    if isScanning {
      earliestAsked = min(earliestAsked, deadline)
      return nil
    }
    let time = max(deadline, lastScan &+ granularity)
    guard time < alarm else { return nil }
    alarm = time
    return time
  }

  /// Starts a scan: ask `item(at:)` for 0, 1, … until it answers `nil`, then `scanned(earliest:)`.
  mutating func beginScan(now: UInt64) {
    isScanning = true
    lastScan = now
    alarm = .max
    earliestAsked = .max
  }

  /// The item at `index`; the inner `nil` if it left.
  func item(at index: Int) -> LoopItem?? { index < items.count ? .some(items[index]) : nil }

  /// Ends a scan whose earliest deadline is `earliest`.
  /// - Returns: When to set the timer to, if anything is left to wait for.
  mutating func endScan(earliest: UInt64) -> UInt64? {
    isScanning = false
    var slot = 0
    while slot < items.count {
      if items[slot] == nil { fill(slot) } else { slot += 1 }
    }
    let next = min(earliest, earliestAsked)
    return next == .max || items.isEmpty ? nil : ask(at: next)
  }

  /// Puts the last item into `slot`, whose own item has left.
  private mutating func fill(_ slot: Int) {
    let last = items.removeLast()
    guard slot < items.count else { return }
    items[slot] = last
    last?.deadlineSlot = Int32(slot)
  }
}
