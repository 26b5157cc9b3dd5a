// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a program tells its test, from whatever thread, in order.

import Foundation

/// A queue of messages that can be waited for.
///
/// `@unchecked Sendable`: `messages` is touched under `condition` only.
final class Mailbox<Message: Sendable>: @unchecked Sendable {
  private let condition = NSCondition()
  private var messages: [Message] = []

  func put(_ message: Message) {
    condition.lock()
    messages.append(message)
    condition.signal()
    condition.unlock()
  }

  /// The next message; `nil` if none comes in time.
  func next(seconds: Double = 10) -> Message? {
    condition.lock()
    defer { condition.unlock() }
    let deadline = Date() + seconds
    while messages.isEmpty, condition.wait(until: deadline) {}
    return messages.isEmpty ? nil : messages.removeFirst()
  }

  /// Whether nothing is waiting.
  var isEmpty: Bool {
    condition.lock()
    defer { condition.unlock() }
    return messages.isEmpty
  }
}

/// How often a client context was retained and released.
///
/// `@unchecked Sendable`: the numbers are touched under `lock` only.
final class ContextCounts: @unchecked Sendable {
  private let lock = NSLock()
  private var retainCount = 0
  private var releaseCount = 0

  func retained() { lock.withLock { retainCount += 1 } }
  func released() { lock.withLock { releaseCount += 1 } }

  /// Whether there was a context, and every one is gone.
  var areBalanced: Bool { lock.withLock { retainCount > 0 && retainCount == releaseCount } }
}
