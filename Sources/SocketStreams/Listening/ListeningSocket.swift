// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The descriptor of a listener and its event, which is there only while a connection could be accepted: a level-triggered
// one over a connection that has to wait would fire without end.

/// A socket that accepts.
///
/// `@unchecked Sendable`: `lock` guards what is below its mark; `event` is touched on `installed`'s thread only.
final class ListeningSocket: LoopItem, @unchecked Sendable {
  /// How many connections are accepted in one pass, so that a burst does not starve the loop's other events.
  private static let batch = 64
  private static let pause: UInt64 = 100_000_000

  let address: SocketAddress
  let connections: OpenConnections
  private let path: UnixPath?
  /// Its connections do not inherit `TCP_NODELAY` from it, at least not those that wait already.
  private let isAdopted: Bool
  private var event: EventHandle?
  /// When accepting goes on after descriptors ran out; 0 while it is going on.
  private var resumption: UInt64 = 0

  private let lock = Lock()
  private var fd: Int32
  private var home: EventBase?
  private var installed: EventLoop?
  private var handler: Handler?
  private var paused = false
  private var isClosed = false

  /// `@unchecked Sendable`: handed over by `sending` parameters, and called by one loop at a time.
  final class Handler: @unchecked Sendable {
    let accept: (StreamPair, SocketAddress) -> Void
    let refuse: (SocketAddress) -> Void

    init(
      accept: sending @escaping (StreamPair, SocketAddress) -> Void,
      refuse: sending @escaping (SocketAddress) -> Void
    ) {
      self.accept = accept
      self.refuse = refuse
    }
  }

  /// Takes over a listening socket that this library made, with the file at `path`, or somebody else.
  init(
    _ socket: consuming NativeSocket, path: UnixPath? = nil, isAdopted: Bool = false, limits: ConnectionLimits
  ) throws(StreamError) {
    address = try SystemCalls.localAddress(socket.rawValue)
    connections = OpenConnections(limits)
    self.path = path
    self.isAdopted = isAdopted && !address.isUnix
    fd = socket.release()
    super.init()
  }

  // MARK: - Any thread

  func schedule(on base: EventBase, _ handler: Handler) {
    change { socket in
      guard !socket.isClosed else { return nil }
      defer { (socket.home, socket.handler) = (base, handler) }
      return (socket.home, socket.handler)
    }
  }

  var isPaused: Bool {
    get { lock.withLock { paused } }
    set {
      change { socket in
        socket.paused = newValue
        return nil
      }
    }
  }

  func drain(within limit: Duration, _ completion: sending @escaping (Int) -> Void) {
    let loop = lock.withLock { home?.loop ?? installed } ?? .shared
    close()
    connections.drain(within: limit, on: loop, completion)
  }

  /// One of the connections has ended, which ``OpenConnections`` was asked to tell.
  func connectionEnded() { lock.withLock { installed }?.wake(self) }

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
    connections.seal()
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
    }
    let (isPaused, isHere) = (paused, installed === loop)
    lock.unlock()
    // Whatever the reason for this call, waiting for room or descriptors ends: it is tried again. Elsewhere another thread
    // has the event.
    if isHere {
      resumption = 0
      if isPaused { event?.delete() } else { event?.add() }
    }
    if let next, next !== loop { next.perform { self.service(on: next) } }
    closeIfDone()
    withExtendedLifetime(dropped) {}
  }

  override func eventFired(_ flags: EventFlags) {
    for _ in 0..<ListeningSocket.batch {
      // Looked at anew each time: the handler may have closed, paused or moved the listener.
      let (handler, fd, loop) = lock.withLock {
        (installed === home?.loop && !paused ? self.handler : nil, self.fd, installed)
      }
      guard let handler, let loop else { return }
      guard connections.hasRoom(orTell: self) else {
        event?.delete()
        return
      }
      switch SystemCalls.accept(fd) {
      case .connection(let socket, let peer):
        if connections.admits(peer) {
          if isAdopted {
            let option = SocketOption.noDelay
            _ = SystemCalls.setOption(socket.rawValue, level: option.level, name: option.name, value: 1)
          }
          if let pair = connections.pair(socket, from: peer) { handler.accept(pair, peer) }
        } else {
          _ = consume socket
          handler.refuse(peer)
        }
      case .wouldBlock: return
      case .failed(let code):
        if SystemCalls.isAboutOneConnection(code) { continue }
        waitForDescriptors(on: loop)
        return
      }
    }
  }

  /// Tries again after a while: a descriptor may have come free anywhere. If a connection of this listener ends, at once.
  private func waitForDescriptors(on loop: EventLoop) {
    event?.delete()
    resumption = loop.monotonicNow() &+ ListeningSocket.pause
    loop.trackDeadlines(of: self, earliest: resumption)
    connections.tellOfEnd(self)
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
