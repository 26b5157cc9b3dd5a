// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The descriptor of a listener and its event. Descriptors that run out pause it: a level-triggered event over a
// connection that cannot be accepted would fire without end.

/// A socket that accepts.
///
/// `@unchecked Sendable`: `lock` guards what is below its mark; `event` is touched on `installed`'s thread only.
final class ListeningSocket: LoopItem, @unchecked Sendable {
  /// How many connections are accepted in one pass, so that a burst does not starve the loop's other events.
  private static let batch = 64
  private static let pause: UInt64 = 100_000_000

  let address: SocketAddress
  private let path: UnixPath?
  private var event: EventHandle?
  /// When accepting goes on after descriptors ran out; 0 while it is going on.
  private var resumption: UInt64 = 0

  private let lock = Lock()
  private var fd: Int32
  private var home: EventBase?
  private var installed: EventLoop?
  private var handler: Handler?
  private var isClosed = false

  /// `@unchecked Sendable`: handed over by a `sending` parameter, and called by one loop at a time.
  private final class Handler: @unchecked Sendable {
    let accept: (StreamPair, SocketAddress) -> Void
    init(_ accept: @escaping (StreamPair, SocketAddress) -> Void) { self.accept = accept }
  }

  init(_ address: SocketAddress, backlog: Int32, reusesPort: Bool) throws(StreamError) {
    let socket = try UnixPath.listen(on: address, backlog: backlog, reusesPort: reusesPort)
    self.address = try SystemCalls.localAddress(socket.rawValue)
    path = UnixPath(address)
    fd = socket.release()
    super.init()
  }

  // MARK: - Any thread

  func schedule(on base: EventBase, _ accept: sending @escaping (StreamPair, SocketAddress) -> Void) {
    change { socket in
      guard !socket.isClosed else { return nil }
      defer { (socket.home, socket.handler) = (base, Handler(accept)) }
      return (socket.home, socket.handler)
    }
  }

  func unschedule() {
    change { socket in
      defer { (socket.home, socket.handler) = (nil, nil) }
      return (socket.home, socket.handler)
    }
  }

  func close() {
    change { socket in
      defer { (socket.home, socket.handler) = (nil, nil) }
      socket.isClosed = true
      return (socket.home, socket.handler)
    }
  }

  /// Changes the state and has it take effect; what the change lets go of goes with the lock free.
  private func change(_ body: (ListeningSocket) -> (EventBase?, Handler?)?) {
    lock.lock()
    let dropped = body(self)
    let loop = installed ?? home?.loop
    lock.unlock()
    if let loop { loop.perform { self.service(on: loop) } } else { closeIfDone() }
    withExtendedLifetime(dropped) {}
  }

  private func closeIfDone() {
    lock.lock()
    let last = isClosed && installed == nil ? fd : -1
    if last >= 0 { fd = -1 }
    lock.unlock()
    guard last >= 0 else { return }
    path?.remove()
    SystemCalls.close(last)
  }

  // MARK: - On the loop

  override func service(on loop: EventLoop) {
    lock.lock()
    if installed === loop, home?.loop !== loop {
      event = nil
      resumption = 0
      loop.unregister(self)
      installed = nil
    }
    let next = installed == nil ? home?.loop : nil
    var dropped: (EventBase?, Handler?)
    if loop.hasEnded {
      // Scheduled on a base that is no more: on none.
      if home?.loop === loop {
        dropped = (home, handler)
        (home, handler) = (nil, nil)
      }
    } else if next === loop {
      loop.register(self)
      installed = loop
      event = EventHandle(loop.handle, fd: fd, [.readable, .persist], target: self)
      event?.add()
    }
    lock.unlock()
    if let next, next !== loop { next.perform { self.service(on: next) } }
    closeIfDone()
    withExtendedLifetime(dropped) {}
  }

  override func eventFired(_ flags: EventFlags) {
    for _ in 0..<ListeningSocket.batch {
      // Looked at anew each time: the handler may have closed or moved the listener.
      let (handler, fd, loop) = lock.withLock {
        (installed === home?.loop ? self.handler : nil, self.fd, installed)
      }
      guard let handler, let loop else { return }
      switch SystemCalls.accept(fd) {
      case .connection(let socket, let peer):
        handler.accept(StreamPair(accepted: socket), peer)
      case .wouldBlock: return
      case .failed(let code):
        if SystemCalls.isAboutOneConnection(code) { continue }
        event?.delete()
        resumption = loop.monotonicNow() &+ ListeningSocket.pause
        loop.trackDeadlines(of: self, earliest: resumption)
        return
      }
    }
  }

  override func nextDeadline(_ loop: EventLoop, now: UInt64) -> UInt64? {
    guard resumption > 0, event != nil else { return nil }
    if now < resumption { return resumption }
    resumption = 0
    event?.add()
    return nil
  }

  override func loopWillEnd(_ loop: EventLoop) {
    lock.lock()
    event = nil
    resumption = 0
    installed = nil
    let dropped = (home, handler)
    if home?.loop === loop { (home, handler) = (nil, nil) }
    lock.unlock()
    closeIfDone()
    withExtendedLifetime(dropped) {}
  }
}
