// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The threads that run loops, and what they do with signals.
internal import Glibc

/// The few thread calls that a loop needs.
enum EventBaseThread {
  /// Starts a thread that runs `body` with every signal blocked but those that its own faults raise: a host's
  /// handlers run on the host's threads. Of `name`, the first 15 bytes are seen by the system.
  static func start(named name: String, _ body: @escaping @Sendable () -> Void) throws(StreamError)
    -> pthread_t
  {
    let start = unsafe OpaqueContext.give(ThreadStart(name: name, body: body))
    var blocked = sigset_t()
    var before = sigset_t()
    var thread = pthread_t()
    unsafe sigfillset(&blocked)
    for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] {
      unsafe sigdelset(&blocked, fault)
    }
    // The new thread inherits the mask, so no signal can reach it before it has one.
    unsafe pthread_sigmask(SIG_SETMASK, &blocked, &before)
    let code = unsafe pthread_create(&thread, nil, threadTrampoline, start)
    unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    guard code == 0 else {
      _ = unsafe OpaqueContext.takeBack(start, as: ThreadStart.self)
      throw .posix(code, "start a thread")
    }
    return thread
  }

  /// Waits until `thread` is gone. Once for each thread, or ``abandon(_:)``.
  static func join(_ thread: pthread_t) { _ = pthread_join(thread, nil) }

  /// Lets `thread`, which may be the calling one, clean up by itself when it ends.
  static func abandon(_ thread: pthread_t) { _ = pthread_detach(thread) }

  /// Runs `body` with SIGPIPE blocked on this thread, and leaves mask and disposition as they were.
  static func withoutBrokenPipeSignal(_ body: () -> Void) {
    var pipe = sigset_t()
    var before = sigset_t()
    unsafe sigemptyset(&pipe)
    unsafe sigaddset(&pipe, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &pipe, &before)
    body()
    guard unsafe sigismember(&before, SIGPIPE) == 0 else { return }
    // One that a write of this thread raised meanwhile is taken away, or it would be delivered now.
    var atOnce = timespec()
    while unsafe sigtimedwait(&pipe, nil, &atOnce) < 0, errno == EINTR {}
    unsafe pthread_sigmask(SIG_UNBLOCK, &pipe, nil)
  }

  /// Nanoseconds of the system's monotonic clock.
  static func monotonicNow() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

private final class ThreadStart: Sendable {
  let name: String
  let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }

  func run() {
    ThreadIdentity.setName(name)
    body()
  }
}

private func threadTrampoline(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  // The reference that start(named:_:) passed on; it gave one.
  unsafe OpaqueContext.takeBack(context, as: ThreadStart.self).run()
  return nil
}
