// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The package's lock and its condition, and state that one of them or a thread guards. pthread ones, because
// the thread sanitizer understands these and not Synchronization.Mutex; on the heap, because a pthread object
// must not move.
internal import Glibc

/// Mutual exclusion. Not recursive; nothing but short state changes happens while it is held.
///
/// `@unchecked Sendable`: the pointer never changes, and what it points to is made for use by many threads.
@safe
package struct Lock: ~Copyable, @unchecked Sendable {
  fileprivate let mutex: UnsafeMutablePointer<pthread_mutex_t>

  package init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    let code = unsafe pthread_mutex_init(mutex, nil)
    precondition(code == 0, "make a lock: failed (POSIX \(code))")
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  @inline(__always)
  package borrowing func lock() { _ = unsafe pthread_mutex_lock(mutex) }

  @inline(__always)
  package borrowing func unlock() { _ = unsafe pthread_mutex_unlock(mutex) }

  @inline(__always)
  package borrowing func withLock<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    lock()
    defer { unlock() }
    return try body()
  }
}

/// Lets threads sleep until the state behind a ``Lock`` changes.
///
/// `@unchecked Sendable`: as for ``Lock``.
@safe
struct Condition: ~Copyable, @unchecked Sendable {
  fileprivate let condition: UnsafeMutablePointer<pthread_cond_t>

  init() {
    unsafe condition = .allocate(capacity: 1)
    unsafe condition.initialize(to: pthread_cond_t())
    let code = unsafe pthread_cond_init(condition, nil)
    precondition(code == 0, "make a condition: failed (POSIX \(code))")
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe condition.deallocate()
  }

  /// Lets go of `lock`, sleeps, and holds it again on return. Wakes without a reason too: ask for the state
  /// in a loop.
  borrowing func wait(_ lock: borrowing Lock) { _ = unsafe pthread_cond_wait(condition, lock.mutex) }

  /// Wakes every thread that waits.
  borrowing func broadcast() { _ = unsafe pthread_cond_broadcast(condition) }
}

/// State in one piece of memory with the lock that guards it. As the lock excludes other accesses, each
/// access to the state is a plain one: a class's stored properties are checked for exclusivity at run time,
/// some 90 instructions a time.
///
/// A class, as the thread sanitizer takes each change inside of a struct in a property for a change of the
/// property.
///
/// `@unchecked Sendable`: the pointers never change, and the state is touched only while the lock is held.
@safe
final class Guarded<State: ~Copyable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let content: UnsafeMutablePointer<State>

  init(_ state: consuming State) {
    let offset = Self.contentOffset
    let alignment = unsafe max(MemoryLayout<pthread_mutex_t>.alignment, MemoryLayout<State>.alignment)
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: offset + MemoryLayout<State>.size, alignment: alignment)
    unsafe mutex = memory.bindMemory(to: pthread_mutex_t.self, capacity: 1)
    unsafe content = (memory + offset).bindMemory(to: State.self, capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe content.initialize(to: state)
    let code = unsafe pthread_mutex_init(mutex, nil)
    precondition(code == 0, "make a lock: failed (POSIX \(code))")
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe content.deinitialize(count: 1)
    unsafe UnsafeMutableRawPointer(mutex).deallocate()
  }

  /// The first place after the lock where a `State` may stand.
  private static var contentOffset: Int {
    let alignment = MemoryLayout<State>.alignment
    return unsafe (MemoryLayout<pthread_mutex_t>.size + alignment - 1) / alignment * alignment
  }

  @inline(__always)
  func lock() { _ = unsafe pthread_mutex_lock(mutex) }

  @inline(__always)
  func unlock() { _ = unsafe pthread_mutex_unlock(mutex) }

  /// The state, for who holds the lock.
  var state: State {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(content) }
    @inline(__always) unsafeMutableAddress { unsafe content }
  }

  @inline(__always)
  func withLock<R: ~Copyable, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
    lock()
    defer { unlock() }
    return try unsafe body(&content.pointee)
  }

  /// Lets go of the lock, sleeps until `condition` is broadcast, and holds the lock again on return. As
  /// ``Condition/wait(_:)``.
  func wait(_ condition: borrowing Condition) {
    _ = unsafe pthread_cond_wait(condition.condition, mutex)
  }
}

/// State that one thread at a time touches by its owner's rules, such as the loop's thread: without a lock,
/// and as plainly as ``Guarded``.
///
/// `@unchecked Sendable`: the pointer never changes; the owner's rules keep other threads away from the
/// state.
@safe
final class Confined<State: ~Copyable>: @unchecked Sendable {
  private let content: UnsafeMutablePointer<State>

  init(_ state: consuming State) {
    unsafe content = .allocate(capacity: 1)
    unsafe content.initialize(to: state)
  }

  deinit {
    unsafe content.deinitialize(count: 1)
    unsafe content.deallocate()
  }

  /// The state, for the thread that may touch it.
  var state: State {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(content) }
    @inline(__always) unsafeMutableAddress { unsafe content }
  }
}
