// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import CLibEvent
import Glibc
import SocketStreams

/// What the connections of one loop share.
///
/// `@unchecked Sendable`: all but `base` and `main`, which are constant, is touched on the loop's thread only.
final class EchoLoop: @unchecked Sendable {
  let base: EventBase
  /// Where echoes read to. One for all: each echo is written, or what is left of it kept, before the next.
  let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 64)

  private let stays: Bool
  /// The loop whose end is the server's, unless it is this one.
  private let main: EchoLoop?
  /// A host program's loop, which bufferevents can be made on.
  private let host: OpaquePointer?

  /// The loop of the main thread.
  init(_ options: EchoOptions) throws {
    (stays, main) = (options.stays, nil)
    host = options.api == .bufferevent ? event_base_new() : nil
    base = if let host { try EventBase(adopting: host) } else { try EventBase() }
    if host != nil {
      // A bufferevent writes to connections that the peer has closed, on a thread of the host's.
      signal(SIGPIPE, SIG_IGN)
    }
  }

  /// One of several loops, whose connections end the server by way of `main`.
  init(_ base: EventBase, endingWith main: EchoLoop) {
    (self.base, self.main, stays, host) = (base, main, main.stays, nil)
  }

  func run() {
    if stays { _ = try? base.onSignal(SIGTERM) { self.stop() } }
    guard let host else { return base.run() }
    event_base_dispatch(host)
    base.invalidate()
    event_base_free(host)
  }

  func connectionEnded() {
    if !stays { (main ?? self).stop() }
  }

  /// Streams over a whole bufferevent, on the socket of `accepted`, which was not opened.
  func overBufferevent(_ accepted: StreamPair) -> StreamPair {
    accepted.input.setProperty(.shouldCloseNativeSocket, to: false)
    let fd = accepted.input.property(.socketNativeHandle)!
    let bufferevent = bufferevent_socket_new(host, fd, Int32(BEV_OPT_CLOSE_ON_FREE.rawValue))!
    return StreamPair(adopting: bufferevent, on: base)
  }

  /// On the thread of a host's loop; that of another kind ends from any.
  private func stop() {
    if let host { event_base_loopbreak(host) } else { base.stop() }
  }
}
