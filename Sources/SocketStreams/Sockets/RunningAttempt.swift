// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a Connector has on the loop: one socket that connects, and timers. Loop's thread only.

/// One address being connected to: a socket and the event that tells of it.
///
/// `@unchecked Sendable`: touched on the loop's thread only.
final class RunningAttempt: EventTarget, @unchecked Sendable {
  let id: ConnectAttempts.ID
  let address: SocketAddress
  private(set) var fd: Int32
  private var event: EventHandle?
  private var retryDelay = Duration.milliseconds(1)
  /// The connector stays as long as it has events.
  private unowned let connector: Connector

  /// Takes over `fd`.
  init(_ connector: Connector, _ id: ConnectAttempts.ID, _ address: SocketAddress, fd: Int32) {
    self.connector = connector
    self.id = id
    self.address = address
    self.fd = fd
  }

  /// Fires once the outcome is known.
  /// - Returns: Whether the loop can watch the socket.
  func watch(_ loop: EventLoop) -> Bool {
    event = EventHandle(loop.handle, fd: fd, .writable, target: self)
    return event?.add() ?? false
  }

  /// Fires after a while that grows from try to try.
  func retryLater(_ loop: EventLoop) {
    event = EventHandle(loop.handle, fd: -1, .timeout, target: self)
    event?.add(after: retryDelay)
    retryDelay = min(retryDelay * 2, .milliseconds(50))
  }

  override func eventFired(_ flags: EventFlags) { connector.fired(self, flags) }

  /// Closes the socket.
  func end() { SystemCalls.close(release()) }

  /// Gives the socket away, unwatched.
  func release() -> Int32 {
    // Before the descriptor can close, or the loop would watch whatever gets its number next.
    event = nil
    defer { fd = -1 }
    return fd
  }
}

/// A timer of a Connector.
///
/// `@unchecked Sendable`: touched on the loop's thread only.
final class ConnectorTimer: EventTarget, @unchecked Sendable {
  private let action: (Connector) -> Void
  private var event: EventHandle?
  /// The connector stays as long as it has timers.
  private unowned let connector: Connector

  init(_ connector: Connector, _ action: @escaping (Connector) -> Void) {
    self.connector = connector
    self.action = action
    super.init()
    event = EventHandle(EventLoop.shared.handle, fd: -1, .timeout, target: self)
  }

  /// Fires after `delay`, counted from now, in place of what was set before.
  func start(_ delay: Duration) { event?.add(after: delay) }

  override func eventFired(_ flags: EventFlags) { action(connector) }
}
