// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Closing a socket that may still receive. A close over input that was not read makes the kernel send a reset, which
// can cost the peer our last bytes; so such a socket ends its direction first and drops input until the peer is done,
// has acknowledged everything, or two seconds have passed.

/// A socket on its way out, kept by the shared loop.
///
/// `@unchecked Sendable`: touched on the shared loop's thread only, after `close(_:)` made it.
final class LingeringSocket: LoopItem, @unchecked Sendable {
  private static let patience: UInt64 = 2_000_000_000
  private static let interval: UInt64 = 20_000_000
  /// More unread input than this is not waited for.
  private static let discardLimit = 1_048_576

  private let fd: Int32
  private let end: UInt64
  private var event: EventHandle?

  private init(_ fd: Int32) {
    self.fd = fd
    end = SystemCalls.monotonicNow() &+ LingeringSocket.patience
  }

  /// Closes `fd` as soon as nothing can be lost by it. Any thread; never blocks.
  static func close(_ fd: Int32) {
    SystemCalls.shutdownWriting(fd)
    if isDone(fd) { return SystemCalls.close(fd) }
    EventLoop.shared.wake(LingeringSocket(fd))
  }

  /// Drops what has arrived, and tells whether a close would lose nothing.
  private static func isDone(_ fd: Int32) -> Bool {
    switch SystemCalls.discardInput(fd, limit: discardLimit).outcome {
    case .end, .failed, .bytes: true
    case .wouldBlock: SystemCalls.unsentCount(fd) == 0
    }
  }

  override func service(on loop: EventLoop) {
    guard event == nil else { return }
    loop.register(self)
    event = EventHandle(loop.handle, fd: fd, [.readable, .persist], target: self)
    event?.add()
    loop.trackDeadlines(of: self)
  }

  override func eventFired(_ flags: EventFlags) {
    if LingeringSocket.isDone(fd) { finish(EventLoop.shared) }
  }

  override func nextDeadline(_ loop: EventLoop, now: UInt64) -> UInt64? {
    guard event != nil else { return nil }
    if now >= end || LingeringSocket.isDone(fd) {
      finish(loop)
      return nil
    }
    return min(end, now &+ LingeringSocket.interval)
  }

  override func loopWillEnd(_ loop: EventLoop) { finish(loop) }

  private func finish(_ loop: EventLoop) {
    guard event != nil else { return }
    event = nil
    SystemCalls.close(fd)
    loop.unregister(self)
  }
}

extension SystemCalls {
  /// Ends the use of a descriptor as its pair's end asks for. Any thread; never blocks.
  static func close(_ fd: Int32, _ ending: SocketSides.Ending) {
    switch ending {
    case .close: close(fd)
    case .abort: abortClose(fd)
    case .closeAfterDelivery: LingeringSocket.close(fd)
    case .giveBack: break
    }
  }
}
