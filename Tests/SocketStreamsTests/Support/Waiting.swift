// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How tests wait: for something that happens, with a limit, and never for time to pass.
import Glibc

/// Something that other threads make happen any number of times, and a test waits for.
final class Signal: @unchecked Sendable {
  // Every access holds the mutex.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var raised = 0

  init() {
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// How often it has been raised, less the waits that have ended well.
  var count: Int { locked { raised } }

  func raise() {
    locked {
      raised += 1
      pthread_cond_broadcast(condition)
    }
  }

  /// Waits until it has been raised `times` more often than earlier waits have used up.
  /// - Returns: Whether that happened within `seconds`.
  func wait(_ times: Int = 1, seconds: Double) -> Bool {
    var limit = timespec()
    clock_gettime(CLOCK_MONOTONIC, &limit)
    let nanoseconds = limit.tv_nsec + Int(seconds * 1e9)
    limit.tv_sec += nanoseconds / 1_000_000_000
    limit.tv_nsec = nanoseconds % 1_000_000_000
    return locked {
      while raised < times {
        if pthread_cond_timedwait(condition, mutex, &limit) == ETIMEDOUT { return false }
      }
      raised -= times
      return true
    }
  }

  private func locked<R>(_ body: () -> R) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }
}

/// A door that is closed at first, and stays open once opened.
final class Gate: Sendable {
  private let signal = Signal()

  func open() { signal.raise() }

  /// Waits until the gate is open.
  /// - Returns: Whether that happened within `seconds`.
  func wait(seconds: Double) -> Bool {
    guard signal.wait(seconds: seconds) else { return false }
    signal.raise()
    return true
  }
}

/// A value that several threads share.
final class Shared<Value>: @unchecked Sendable {
  // Every access holds the mutex.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var stored: Value

  init(_ value: sending Value) {
    stored = value
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  func with<R>(_ body: (inout Value) -> R) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&stored)
  }

  var value: Value { with { $0 } }
}

/// Asks again and again until `condition` holds: for what nothing announces, such as a thread that has gone.
/// - Returns: Whether it held within `seconds`.
func eventually(within seconds: Double = 10, _ condition: () -> Bool) -> Bool {
  let end = monotonicSeconds() + seconds
  while !condition() {
    if monotonicSeconds() > end { return false }
    // Lets others run; how long it takes decides nothing but how often is asked.
    usleep(1_000)
  }
  return true
}

/// The monotonic clock.
func monotonicSeconds() -> Double {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}

/// Runs `body` on a thread of its own, of which the result is the gate that opens when it is done.
@discardableResult
func onThread(_ body: @escaping @Sendable () -> Void) -> Gate {
  let gate = Gate()
  let start = Unmanaged.passRetained(
    Start {
      body(); gate.open()
    })
  var thread = pthread_t()
  let code = pthread_create(
    &thread, nil,
    { context in
      Unmanaged<Start>.fromOpaque(context!).takeRetainedValue().body()
      return nil
    }, start.toOpaque())
  precondition(code == 0)
  pthread_detach(thread)
  return gate
}

private final class Start: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// Whether a sanitizer slows this process down, so that a long test may be shorter.
var isSanitized: Bool { dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil }
