// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A server of TLS in memory behind a plain socket, and the client's pair at the other end: a test says which of the server's
// bytes the client gets, and when. No assertions.
#if TLS

import COpenSSL
import Glibc
import SocketStreams

@testable import SocketStreamsTLS

/// A peer whose bytes are fed by hand.
final class HandFedPeer {
  /// The client's, open.
  let pair: StreamPair
  let engine: TLSEngine
  /// What the server says waits here until it is given.
  let wire = TestWire()
  private let socket: RawSocket

  /// The client connects over `transport`.
  convenience init(
    _ transport: ConnectionOptions.Transport, server: TLSSettings = EngineSettings.server,
    client: TLSSettings = EngineSettings.client
  ) throws {
    let listener = try RawListener()
    var options = ConnectionOptions()
    options.transport = transport
    let pair = StreamPair(host: "127.0.0.1", port: listener.port, options: options)
    try pair.startTLS(client)
    pair.open()
    guard let socket = listener.accept(seconds: 60) else { throw RawFailure("accept") }
    try self.init(pair, socket, server)
  }

  /// The client has one end of a pair of sockets, `descriptor`, in which all that is given waits to be read.
  convenience init(descriptor: inout Int32) throws {
    var ends: [Int32] = [0, 0]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw RawFailure("socketpair")
    }
    descriptor = ends[0]
    let pair = StreamPair(nativeSocket: ends[0], closesWhenDone: true)
    try pair.startTLS(.trusting(peerName: "localhost"))
    pair.open()
    try self.init(pair, RawSocket(owning: ends[1]), EngineSettings.server)
  }

  private init(_ pair: StreamPair, _ socket: RawSocket, _ settings: TLSSettings) throws {
    self.pair = pair
    self.socket = socket
    engine = try settings.engine()
    engine.attach(to: wire)
  }

  /// A client and a server whose tickets are in several records, as they have the client's certificate in them.
  static func withLongTickets(_ transport: ConnectionOptions.Transport) throws -> HandFedPeer {
    let certificates = TestCertificates.shared
    let peer = try HandFedPeer(
      transport,
      server: .serving {
        $0.clientCertificates = .required
        $0.roots = .only([try certificates.root()])
      }, client: .trusting { $0.identity = try certificates.identity("client") })
    // SSL_CTRL_SET_MAX_SEND_FRAGMENT
    guard SSL_ctrl(peer.engine.connection.ssl, 52, 512, nil) == 1 else { throw RawFailure("fragments") }
    return peer
  }

  /// Makes the handshake; the tickets behind it are not given yet.
  func shakeHands() -> Bool {
    eventually(within: 60) {
      take()
      guard engine.handshake() != .done else { return pair.output.canAcceptBytes }
      give()
      _ = pair.output.canAcceptBytes
      return false
    }
  }

  /// Gives the client the oldest of what was said.
  func give(_ count: Int = .max) {
    socket.send(wire.sent.prefix(count))
    wire.sent.removeFirst(min(count, wire.sent.count))
  }

  /// Gives the client the first record of a ticket, and has it taken: without the rest, it cannot send.
  func giveHalfTicket() -> Bool {
    guard wire.sent.count > 600, wire.sent[0] == 23 else { return false }
    give(5 + Int(wire.sent[3]) << 8 + Int(wire.sent[4]))
    return eventually(within: 60) { !pair.input.hasBytesAvailable && !pair.output.canAcceptBytes }
  }

  /// Takes what the client has sent, at most `limit` bytes.
  func take(_ limit: Int = .max) {
    var room = [UInt8](repeating: 0, count: 65_536)
    var left = limit
    while left > 0 {
      let count = recv(socket.fd, &room, min(room.count, left), Int32(MSG_DONTWAIT))
      if count == 0 { wire.isEnded = true }
      if count <= 0 { return }
      wire.arrive(room[..<count])
      left -= count
    }
  }

  /// All that the client sends until it ends, and how it does; `.wouldBlock` if it does not.
  func takeAll() -> (bytes: [UInt8], last: IOResult) {
    var (bytes, last) = ([UInt8](), IOResult.wouldBlock)
    _ = eventually(within: 60) {
      take()
      let (more, result) = engine.readAll()
      bytes += more
      last = result
      return result != .wouldBlock
    }
    return (bytes, last)
  }

  /// Says so many times that its keys change.
  func changeKeys(_ count: Int, asking: Bool) {
    let ssl = engine.connection.ssl
    for _ in 0..<count {
      SSL_key_update(ssl, asking ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED)
      SSL_do_handshake(ssl)
    }
  }
}

#endif
