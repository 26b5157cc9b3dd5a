// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

// Serialised, since a process has one set of signals; nothing else in this target watches for any.
@Suite("An event base watches for signals", .serialized, .timeLimit(.minutes(2)))
struct EventSignalTests {
  // N3
  @Test("a signal calls the closure on the base's thread, each time, until it is cancelled")
  func delivery() throws {
    let base = try EventBase.startThread()
    let seen = Signal()
    let earlier = handler(of: SIGUSR1)
    let signal = try base.onSignal(SIGUSR1) { if base.isCurrent { seen.raise() } }
    base.sync {}
    for _ in 0..<3 {
      deliver(SIGUSR1)
      #expect(seen.wait(seconds: 10))
    }
    signal.cancel()
    signal.cancel()
    base.sync {}
    #expect(handler(of: SIGUSR1) == earlier)
  }

  // N3: libevent 2.1.12 delivers to the base that added a signal last, with a warning only.
  @Test("while one base watches, another is refused with EBUSY; afterwards it may")
  func oneBase() throws {
    let first = try EventBase.startThread()
    let second = try EventBase.startThread()
    let a = try first.onSignal(SIGUSR1) {}
    let b = try first.onSignal(SIGUSR2) {}
    a.cancel()
    first.sync {}
    #expect(throws: StreamError(.posix, code: EBUSY, operation: "watch for signal \(SIGUSR1)")) {
      try second.onSignal(SIGUSR1) {}
    }
    b.cancel()
    first.sync {}
    let seen = Signal()
    let signal = try second.onSignal(SIGUSR1) { seen.raise() }
    second.sync {}
    deliver(SIGUSR1)
    #expect(seen.wait(seconds: 10))
    signal.cancel()
    second.sync {}
  }

  // N3
  @Test("the end of a base that watches gives the signals back")
  func endGivesBack() throws {
    let earlier = handler(of: SIGUSR1)
    for _ in 0..<50 {
      let base = try EventBase.startThread()
      let seen = Signal()
      try base.onSignal(SIGUSR1) { seen.raise() }
      base.sync {}
      deliver(SIGUSR1)
      #expect(seen.wait(seconds: 10))
      base.stop()
      base.join()
    }
    #expect(handler(of: SIGUSR1) == earlier)
  }

  // N3
  @Test("a signal that cannot be caught is refused with EINVAL", arguments: [0, -1, SIGKILL, SIGSTOP, 65])
  func refused(number: Int32) throws {
    let base = try EventBase()
    #expect(throws: StreamError(.posix, code: EINVAL, operation: "watch for signal \(number)")) {
      try base.onSignal(number) {}
    }
  }

  /// Has a thread that does not block the signal get it: the threads that tests run on block all of them.
  private func deliver(_ number: Int32) {
    let delivered = onThread {
      var set = sigset_t()
      sigemptyset(&set)
      sigaddset(&set, number)
      pthread_sigmask(SIG_UNBLOCK, &set, nil)
      raise(number)
    }
    #expect(delivered.wait(seconds: 10))
  }

  private func handler(of number: Int32) -> UInt {
    var action = sigaction()
    sigaction(number, nil, &action)
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
  }
}
