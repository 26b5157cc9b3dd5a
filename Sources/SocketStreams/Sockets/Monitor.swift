// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A lock to wait under with a time limit, for the resolver's threads: they end when they had no work for a while.

internal import Glibc

/// A mutex and a condition that belongs to it, at stable addresses.
@safe struct Monitor: ~Copyable, @unchecked Sendable {
  // Sendable: pthreads makes both safe for any thread, and the pointers never change.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>

  init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe condition = .allocate(capacity: 1)
    _ = unsafe pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    _ = unsafe pthread_condattr_init(&attributes)
    _ = unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    _ = unsafe pthread_cond_init(condition, &attributes)
    _ = unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    _ = unsafe pthread_cond_destroy(condition)
    _ = unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  func lock() { _ = unsafe pthread_mutex_lock(mutex) }
  func unlock() { _ = unsafe pthread_mutex_unlock(mutex) }

  /// Runs `body` under the lock.
  func withLock<R>(_ body: () -> R) -> R {
    lock()
    defer { unlock() }
    return body()
  }

  /// Wakes one waiting thread.
  func wakeOne() { _ = unsafe pthread_cond_signal(condition) }

  /// Wakes every waiting thread.
  func wakeAll() { _ = unsafe pthread_cond_broadcast(condition) }

  /// Gives the lock away while waiting. May return without reason, as conditions do.
  /// - Parameter deadline: Of the monotonic clock, in nanoseconds.
  func wait(until deadline: UInt64) {
    var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
    _ = unsafe pthread_cond_timedwait(condition, mutex, &time)
  }
}
