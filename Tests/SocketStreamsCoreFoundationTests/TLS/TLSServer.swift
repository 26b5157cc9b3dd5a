// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The other side of the tests of TLS: the core's own server, on a base of its own, which keeps what it sees.

#if TLS

import Glibc
import SocketStreams
import SocketStreamsTLS
import Testing

/// What a server does with a connection.
enum TLSService: Sendable {
  /// Sends back what comes, until the end.
  case echo
  /// Sends this, and no more.
  case sends([UInt8])
  /// Begins in the clear, and agrees to "STARTTLS"; then as ``echo``.
  case upgrade
}

/// Serves any number of connections. Ends when dropped.
final class TLSServer: Sendable {
  struct Log: Sendable {
    var received: [UInt8] = []
    var peers: [TLSPeer] = []
    /// How connections ended, `nil` being an orderly end.
    var endings: [StreamError?] = []
  }

  private let base: EventBase
  private let listener: Listener
  private let settings: TLSSettings
  private let service: TLSService
  private let log = Shared(Log())

  var port: UInt16 { listener.localAddress.port! }
  var received: [UInt8] { log.value.received }
  var peers: [TLSPeer] { log.value.peers }
  var endings: [StreamError?] { log.value.endings }

  init(_ settings: TLSSettings, _ service: TLSService = .echo) throws {
    (self.settings, self.service) = (settings, service)
    base = try EventBase.startThread()
    listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    listener.schedule(on: base) { [base, settings, service, log] pair, _ in
      TLSConnection(pair, settings, service, log).begin(on: base)
    }
  }

  /// With the certificate that is called so.
  convenience init(_ name: String, _ service: TLSService = .echo) throws {
    try self.init(.serving(name), service)
  }

  deinit { listener.close() }
}

/// One connection of a server, or a raw socket that becomes one.
///
/// `@unchecked Sendable`: the bytes that are left to send are touched on the base's thread only.
final class TLSConnection: @unchecked Sendable {
  let pair: StreamPair
  private let settings: TLSSettings
  private let service: TLSService
  private let log: Shared<TLSServer.Log>
  private var unsent: [UInt8] = []
  private var said: [UInt8] = []
  private var isSecuring: Bool

  init(_ pair: StreamPair, _ settings: TLSSettings, _ service: TLSService, _ log: Shared<TLSServer.Log>) {
    (self.pair, self.settings, self.service, self.log) = (pair, settings, service, log)
    if case .upgrade = service { isSecuring = false } else { isSecuring = true }
    if case .sends(let bytes) = service { unsent = bytes }
  }

  func begin(on base: EventBase) {
    if isSecuring { secure() }
    pair.input.setClient([.hasBytesAvailable, .endEncountered, .errorOccurred]) { [self] input, event in
      switch event {
      case .hasBytesAvailable: read()
      case .endEncountered: ended(nil)
      default: ended(input.error)
      }
    }
    pair.output.setClient([.canAcceptBytes]) { [self] _, _ in write() }
    pair.schedule(on: base)
    pair.open()
  }

  private func secure() {
    do { try pair.startTLS(settings) } catch { ended(error) }
  }

  private func read() {
    if let peer = pair.input.property(.tlsPeer) {
      log.with { if $0.peers.last != peer { $0.peers.append(peer) } }
    }
    var room = [UInt8](repeating: 0, count: 65_536)
    let count = room.withUnsafeMutableBytes { room in (try? pair.input.read(into: room)) ?? nil }
    let bytes = room.prefix(count ?? 0)
    if isSecuring {
      log.with { $0.received += bytes }
      if case .sends = service { return }
      unsent += bytes
      return write()
    }
    said += bytes
    guard said.suffix(10) == Array("STARTTLS\r\n".utf8) else { return }
    unsent = Array("220 go\r\n".utf8)
    write()
    isSecuring = true
    secure()
  }

  private func write() {
    while !unsent.isEmpty, let count = (try? pair.output.write(unsent)) ?? nil { unsent.removeFirst(count) }
    if case .sends = service, unsent.isEmpty { pair.output.close() }
  }

  private func ended(_ error: StreamError?) {
    log.with { $0.endings.append(error) }
    pair.close()
  }
}

/// A raw socket, on which this side begins TLS only when the test says so.
final class LateTLSPeer {
  private let base: EventBase
  private let log = Shared(TLSServer.Log())
  private let settings: TLSSettings
  private var connection: TLSConnection?

  var received: [UInt8] { log.value.received }
  var peers: [TLSPeer] { log.value.peers }
  var endings: [StreamError?] { log.value.endings }

  init(_ settings: TLSSettings) throws {
    base = try EventBase.startThread()
    self.settings = settings
  }

  /// A server with the certificate that is called so.
  convenience init(_ name: String = "localhost") throws { try self.init(.serving(name)) }

  /// Takes over `socket` and does its part of the handshake.
  func begin(on socket: RawSocket, _ service: TLSService = .echo) {
    let connection = TLSConnection(
      StreamPair(nativeSocket: socket.release(), closesWhenDone: true), settings, service, log)
    connection.begin(on: base)
    self.connection = connection
  }

  /// Ends the connection below TLS, which is not told.
  func cut() {
    guard let fd = connection?.pair.input.property(.socketNativeHandle) else { return }
    _ = shutdown(fd, Int32(SHUT_RDWR))
  }
}

#endif
