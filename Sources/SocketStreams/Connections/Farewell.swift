// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The end of a connection, as what is left to do when the pair's lock is free again.

/// What a transport leaves to be done after both halves are.
indirect enum Farewell {
  case none
  /// A descriptor that nobody else knows any more.
  case socket(Int32, SocketSides.Ending, wasBlocking: Bool, isClaimed: Bool)
  /// A bufferevent, which has to be ended on its loop, and its descriptor, or −1.
  case bufferevent(BuffereventTransport, SocketSides.Ending, Int32)

  /// Any thread, no lock held.
  func perform() {
    switch self {
    case .none: break
    case .socket(let fd, let ending, let wasBlocking, let isClaimed):
      if ending == .giveBack, wasBlocking { SystemCalls.setNonBlocking(fd, false) }
      // Before the number can be anybody else's.
      if isClaimed { ClaimedDescriptors.release(fd) }
      SystemCalls.close(fd, ending)
    case .bufferevent(let transport, let ending, let fd): transport.finish(ending, fd)
    }
  }
}
