// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Cutting a connection, whatever is under way.

extension Endpoint {
  /// Cuts the connection.
  func abort() {
    lock.lock()
    sides.aborted()
    transport.dropQueue()
    if let writer {
      // A write half that was closed with bytes queued has nothing left to wait for; an open one takes no more from
      // now on, or the peer would get bytes from behind those that were dropped.
      if writer.isGone { writer.transportSignalled() }
      if writer.lifecycle.status == .open { writer.lifecycle.closeRequested() }
    }
    let halves = (reader, writer)
    lock.unlock()
    halves.0?.close(isDropped: true)
    halves.1?.close(isDropped: true)
  }
}
