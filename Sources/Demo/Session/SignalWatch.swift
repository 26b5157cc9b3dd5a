// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// SIGINT and SIGTERM as loop events: the first asks the command to end, a second ends the program at once.

import Glibc
import SocketStreams

/// Watches for the signals that end the program.
///
/// They have a loop of their own: a network thread that blocks in a read, or a main thread that blocks in a write, must
/// not keep them away.
actor SignalWatch {
  /// How long an orderly end may take before the signal ends the program after all.
  private static let patience = Duration.seconds(2)

  private nonisolated let base: EventBase
  private let interrupt: @Sendable (_ number: Int32) -> Void
  private var first: Int32?

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  /// - Parameter interrupt: Called once, on the watch's thread.
  init(_ interrupt: @escaping @Sendable (_ number: Int32) -> Void) throws(StreamError) {
    base = try EventBase.startThread(named: "signals")
    self.interrupt = interrupt
  }

  /// From the return of this on, the signals are watched for.
  nonisolated func start() throws(StreamError) {
    // On the watch's own thread, where it takes effect at once: a signal that comes before would end the program.
    try base.sync { () throws(StreamError) in
      for number in [SIGINT, SIGTERM] {
        try base.onSignal(number) { [self] in assumeIsolated { $0.received(number) } }
      }
    }
  }

  /// Ends the watch, and waits for its thread. Afterwards the signals act as before.
  nonisolated func stop() {
    base.stop()
    base.join()
  }

  private func received(_ number: Int32) {
    guard first == nil else { Self.end(by: number) }
    first = number
    base.schedule(after: Self.patience) { Self.end(by: number) }
    interrupt(number)
  }

  /// Ends the program as the signal itself would.
  static func end(by number: Int32) -> Never {
    _ = signal(number, SIG_DFL)
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, number)
    // The library's threads block signals; this one has to take it.
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    raise(number)
    // Not reached: the default action of both signals ends the process.
    exit(128 + number)
  }
}
