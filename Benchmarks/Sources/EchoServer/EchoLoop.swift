// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import CLibEvent
import Glibc
import SocketStreams

/// What the connections of one loop share.
///
/// `@unchecked Sendable`: all but `base` is touched on the loop's thread only.
final class EchoLoop: @unchecked Sendable {
  let base: EventBase
  /// Where the C callbacks read to. One for all: each echo is written, or what is left of it kept, before the next.
  let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 64)

  private let stays: Bool
  /// A host program's loop, which bufferevents can be made on.
  private let host: OpaquePointer?

  init(_ options: EchoOptions) throws {
    stays = options.stays
    host = options.way == .bufferevent ? event_base_new() : nil
    base = if let host { try EventBase(adopting: host) } else { try EventBase() }
    if host != nil {
      // A bufferevent writes to connections that the peer has closed, on a thread of the host's.
      signal(SIGPIPE, SIG_IGN)
    }
  }

  func run() {
    if stays { _ = try? base.onSignal(SIGTERM) { self.stop() } }
    guard let host else { return base.run() }
    event_base_dispatch(host)
    base.invalidate()
    event_base_free(host)
  }

  func connectionEnded() {
    if !stays { stop() }
  }

  /// Streams over a whole bufferevent, on the socket of `accepted`, which was not opened.
  func overBufferevent(_ accepted: StreamPair) -> StreamPair {
    accepted.input.setProperty(.shouldCloseNativeSocket, to: false)
    let fd = accepted.input.property(.socketNativeHandle)!
    let bufferevent = bufferevent_socket_new(host, fd, Int32(BEV_OPT_CLOSE_ON_FREE.rawValue))!
    return StreamPair(adopting: bufferevent, on: base)
  }

  private func stop() {
    if let host { event_base_loopbreak(host) } else { base.stop() }
  }
}
