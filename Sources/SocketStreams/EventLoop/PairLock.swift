// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The lock of a pair: taken and given back several times in each round trip, and held by nobody else nearly always. So
// it is one atomic word in place, and only a thread that finds it held goes to a pthread mutex, to sleep there.
internal import Synchronization

/// Mutual exclusion for state that threads rarely meet at. Not recursive, not fair.
///
/// The thread sanitizer sees it, as the atomics are compiled into this module.
struct PairLock: ~Copyable {
  /// 0: free. 1: held. 2: held, and somebody may sleep.
  private let word = Atomic<UInt8>(0)
  /// Where threads that wait for this lock sleep.
  private let bed = Bed.next()

  @inline(__always)
  borrowing func lock() {
    let (taken, _) = word.compareExchange(
      expected: 0, desired: 1, successOrdering: .acquiring, failureOrdering: .relaxed)
    if !taken { waitForLock() }
  }

  /// The lock must be there still when this returns: the caller holds what it is in.
  @inline(__always)
  borrowing func unlock() {
    if word.exchange(0, ordering: .releasing) == 2 { wakeWaiters() }
  }

  @inline(__always)
  borrowing func withLock<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    lock()
    defer { unlock() }
    return try body()
  }

  @inline(never)
  private borrowing func waitForLock() {
    Bed.all[Int(bed)].sleep {
      // Taken with the mark that somebody may sleep, as this thread cannot know that nobody else does.
      word.exchange(2, ordering: .acquiring) == 0
    }
  }

  @inline(never)
  private borrowing func wakeWaiters() { Bed.all[Int(bed)].wakeAll() }
}

/// Where the threads sleep that wait for any of some locks: a mark that a lock is waited for is set, and looked at by
/// who gives the lock back, under the same mutex, so that no wake-up is lost.
private final class Bed: Sendable {
  static let all = (0..<16).map { _ in Bed() }
  private static let counter = Atomic<UInt8>(0)

  private let mutex = Lock()
  private let changed = Condition()

  /// Spreads the locks over the beds.
  static func next() -> UInt8 { counter.wrappingAdd(1, ordering: .relaxed).oldValue & 15 }

  func sleep(until isTaken: () -> Bool) {
    mutex.lock()
    while !isTaken() { changed.wait(mutex) }
    mutex.unlock()
  }

  func wakeAll() {
    mutex.withLock {}
    changed.broadcast()
  }
}
