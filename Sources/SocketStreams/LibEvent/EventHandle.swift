// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// One `struct event`, and the trampoline from its C callback to an EventTarget.
internal import CLibEvent

/// One libevent event. Every member is for the loop's thread only, `deinit` included.
@safe
struct EventHandle: ~Copyable {
  private let event: OpaquePointer

  /// Makes an event, not yet added. `fd` is a descriptor, −1 for a timer, or a signal's number.
  init(_ loop: LoopHandle, fd: Int32, _ flags: EventFlags, target: EventTarget) {
    if loop.isAdopted { target.hostLoop = loop }
    let callback: event_callback_fn =
      if loop.isAdopted {
        unsafe hostEventTrampoline
      } else if target.letsGoLast {
        unsafe lightEventTrampoline
      } else {
        unsafe eventTrampoline
      }
    let made = unsafe event_new(loop.base, fd, flags.rawValue, callback, OpaqueContext.lend(target))
    guard let made = unsafe made else { fatalError("make an event: out of memory") }
    unsafe event = made
  }

  deinit { unsafe event_free(event) }

  /// Starts watching, without a time limit. Adding an added event changes nothing.
  /// - Returns: Whether the kernel accepts the descriptor; a regular file, for one, cannot be watched.
  @discardableResult
  borrowing func add() -> Bool { unsafe event_add(event, nil) == 0 }

  /// Starts watching, and fires with ``EventFlags/timeout`` after a time, which starts over if one was set.
  /// With 0 that is the loop's next pass.
  @discardableResult
  borrowing func add(afterNanoseconds delay: UInt64) -> Bool {
    var time = timeval()
    if delay > 0 {
      // 2.1.12 counts from a coarse clock, which is some milliseconds behind, and on a host's base as it was
      // when the loop woke up: without these two corrections the event would fire early. Asked for first, as
      // the coarse clock may tick in between.
      let behind = coarseClockLag()
      _ = unsafe event_base_update_cache_time(event_get_base(event))
      // Rounded up, and at most 100 years: the sum with the clock must not overflow.
      let microseconds = Int((min(delay, 3_153_600_000_000_000_000) + behind + 999) / 1_000)
      time = timeval(tv_sec: microseconds / 1_000_000, tv_usec: microseconds % 1_000_000)
    }
    return unsafe event_add(event, &time) == 0
  }

  /// As ``add(afterNanoseconds:)``; a negative delay counts as 0.
  @discardableResult
  borrowing func add(after delay: Duration) -> Bool { add(afterNanoseconds: delay.clampedNanoseconds) }

  /// Stops watching. An event that is due in this pass of the loop does not fire any more.
  borrowing func delete() { _ = unsafe event_del(event) }

  /// Fires in this pass of the loop, with ``EventFlags/timeout``.
  borrowing func activate() { unsafe event_active(event, Int32(EV_TIMEOUT), 0) }
}

extension Duration {
  /// Whole nanoseconds, rounded up; not negative, and at most 100 years, so that sums with a clock do not
  /// overflow.
  var clampedNanoseconds: UInt64 {
    let (seconds, attoseconds) = max(.zero, min(self, .seconds(100 * 365 * 86_400))).components
    return UInt64(seconds) * 1_000_000_000 + UInt64((attoseconds + 999_999_999) / 1_000_000_000)
  }
}

/// How many nanoseconds the clock that libevent reads is behind the precise one.
private func coarseClockLag() -> UInt64 {
  var coarse = timespec()
  var precise = timespec()
  unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &coarse)
  unsafe clock_gettime(CLOCK_MONOTONIC, &precise)
  let lag = (precise.tv_sec - coarse.tv_sec) * 1_000_000_000 + precise.tv_nsec - coarse.tv_nsec
  return UInt64(max(0, lag))
}

private func eventTrampoline(_ fd: Int32, _ flags: Int16, _ context: UnsafeMutableRawPointer?) {
  let target = unsafe OpaqueContext.borrowed(context, as: EventTarget.self)
  target.eventFired(EventFlags(rawValue: flags))
}

private func lightEventTrampoline(_ fd: Int32, _ flags: Int16, _ context: UnsafeMutableRawPointer?) {
  unsafe OpaqueContext.use(context, as: EventTarget.self) { $0.eventFired(EventFlags(rawValue: flags)) }
}

private func hostEventTrampoline(_ fd: Int32, _ flags: Int16, _ context: UnsafeMutableRawPointer?) {
  let target = unsafe OpaqueContext.borrowed(context, as: EventTarget.self)
  target.hostLoop?.noteThread()
  target.eventFired(EventFlags(rawValue: flags))
}
