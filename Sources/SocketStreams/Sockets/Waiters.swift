// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Threads that block until a stream changes, each on an eventfd of its own beside the stream's descriptor; and who is told
// when the pair is over.

/// One blocked thread.
final class Waiter: Sendable {
  /// Without a descriptor to spare, `nil`: the thread looks again every so often instead.
  private let wakeUp: Int32?

  init() {
    do throws(StreamError) {
      let made = try SystemCalls.makeEventDescriptor()
      wakeUp = made.release()
    } catch {
      wakeUp = nil
    }
  }

  deinit {
    if let wakeUp { SystemCalls.close(wakeUp) }
  }

  func signal() {
    if let wakeUp { SystemCalls.signal(wakeUp) }
  }

  /// Blocks until `descriptor` is ready for `readiness`, ``signal()`` is called, or `timeout` has passed.
  func wait(_ descriptor: Int32?, for readiness: SystemCalls.Readiness, timeout: Duration?) {
    let limit = wakeUp == nil ? min(timeout ?? .milliseconds(10), .milliseconds(10)) : timeout
    _ = SystemCalls.wait(descriptor ?? -1, for: readiness, wakeDescriptor: wakeUp, timeout: limit)
    if let wakeUp { SystemCalls.clear(wakeUp) }
  }
}

/// Who waits for one pair: threads for any change, closures for its end.
///
/// `@unchecked Sendable`: guarded by the pair's lock.
final class Waiters: @unchecked Sendable {
  private var waiting: [Waiter] = []
  /// Kept for the next wait, so that a thread that reads in blocking calls makes no descriptor for each.
  private var spare: Waiter?
  private var endings: [@Sendable () -> Void] = []

  /// Whether no thread waits.
  var isEmpty: Bool { waiting.isEmpty }

  func enter() -> Waiter {
    let waiter = spare ?? Waiter()
    spare = nil
    waiting.append(waiter)
    return waiter
  }

  func leave(_ waiter: Waiter) {
    waiting.removeAll { $0 === waiter }
    spare = waiter
  }

  func dropSpare() { spare = nil }

  func signal() { for waiter in waiting { waiter.signal() } }

  func awaitEnd(_ body: @escaping @Sendable () -> Void) { endings.append(body) }

  /// What to call, with the lock free, now that the pair is over.
  func takeEndings() -> [@Sendable () -> Void] {
    defer { endings = [] }
    return endings
  }
}
