// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A thread and a monitor for the test servers, which block on purpose.

import Glibc

/// Whether a sanitizer slows this process down, and the program with it, so that a long test may be shorter.
var isSanitized: Bool { dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil }

/// Runs `body` on a thread of its own.
func startThread(_ body: @escaping @Sendable () -> Void) {
  final class Box {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  var thread = pthread_t()
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
  defer { pthread_attr_destroy(&attributes) }
  let context = Unmanaged.passRetained(Box(body)).toOpaque()
  let result = pthread_create(
    &thread, &attributes,
    { context in
      Unmanaged<Box>.fromOpaque(context!).takeRetainedValue().body()
      return nil
    }, context)
  precondition(result == 0, "pthread_create: \(result)")
}

/// A value behind a lock, that can be waited for.
final class Monitor<Value>: @unchecked Sendable {
  // Both are allocated once and freed at the end, so their addresses are stable; `value` is touched under the lock only.
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var value: Value

  init(_ value: Value) {
    self.value = value
    pthread_mutex_init(lock, nil)
    pthread_cond_init(changed, nil)
  }

  deinit {
    pthread_cond_destroy(changed)
    pthread_mutex_destroy(lock)
    changed.deallocate()
    lock.deallocate()
  }

  /// Reads or changes the value, and wakes those who wait.
  func access<Result>(_ body: (inout Value) -> Result) -> Result {
    pthread_mutex_lock(lock)
    defer {
      pthread_cond_broadcast(changed)
      pthread_mutex_unlock(lock)
    }
    return body(&value)
  }

  /// Waits until `condition` holds, for at most `seconds`, and returns the value either way.
  func wait(seconds: Int = 20, until condition: (Value) -> Bool) -> Value {
    var deadline = timespec()
    clock_gettime(CLOCK_REALTIME, &deadline)
    deadline.tv_sec += seconds
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    while !condition(value), pthread_cond_timedwait(changed, lock, &deadline) == 0 {}
    return value
  }
}
