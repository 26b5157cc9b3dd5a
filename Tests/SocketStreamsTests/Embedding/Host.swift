// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A program that was there before the library: a C program with an event loop and timers of its own.

import CLibEvent
import SocketStreams

/// A host with its own `event_base`, which it makes, runs on a thread, and frees.
///
/// `@unchecked Sendable`: the pointers never change; libevent is called on the host's thread, or while it does not run.
final class HostProgram: @unchecked Sendable {
  let base: OpaquePointer
  private var timer: OpaquePointer?
  private var ended: Gate?
  private let ticks = Shared(0)

  init() { base = event_base_new()! }

  /// A pointer of libevent's on its way to the host's thread, where alone it is used.
  struct Handle: @unchecked Sendable {
    let pointer: OpaquePointer
    init(_ pointer: OpaquePointer) { self.pointer = pointer }
  }

  /// How often the host's timer has fired.
  var tickCount: Int { ticks.value }

  /// Adds a timer of the host's that fires every `milliseconds`.
  func startTicking(every milliseconds: Int) {
    timer = event_new(
      base, -1, Int16(EV_PERSIST),
      { _, _, context in
        Unmanaged<HostProgram>.fromOpaque(context!).takeUnretainedValue().ticks.with { $0 += 1 }
      }, Unmanaged.passUnretained(self).toOpaque())
    var interval = timeval(tv_sec: 0, tv_usec: milliseconds * 1_000)
    event_add(timer, &interval)
  }

  /// Runs the loop on a thread until ``leave(_:)``.
  func run() { ended = onThread { [self] in _ = event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) } }

  /// Ends the library's use of the base on the host's thread, and the loop.
  /// - Returns: Whether the host's thread has ended in time.
  func leave(_ adopted: EventBase) -> Bool {
    adopted.execute { [self] in
      adopted.invalidate()
      event_base_loopbreak(base)
    }
    return ended?.wait(seconds: 20) ?? false
  }

  /// How many events the base has.
  var eventCount: Int { Int(event_base_get_num_events(base, UInt32(EVENT_BASE_COUNT_ADDED))) }

  func free() {
    if let timer { event_free(timer) }
    event_base_free(base)
  }
}
