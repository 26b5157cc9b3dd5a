// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The other side of a test, made of the library's streams: it secures what it accepts, or is given, and keeps what it sees.
// No assertions.
#if TLS

import Glibc
import SocketStreams
import SocketStreamsTLS

/// One listener on 127.0.0.1 with a base of its own. Ends when dropped.
final class SecureServer: Sendable {
  /// What it does with a connection.
  enum Service: Sendable {
    /// Sends back what comes, and ends when the peer does.
    case echo
    /// Sends this, and ends at once.
    case sends([UInt8])
    /// Agrees to "STARTTLS" in the clear; then as ``echo``.
    case upgrade
    /// Leaves it to the test.
    case none
  }

  private struct Log: Sendable {
    var pairs: [StreamPair] = []
    var received: [UInt8] = []
    var peers: [TLSPeer] = []
    var ends: [StreamError?] = []
  }

  let base: EventBase
  private let listener: Listener
  private let settings: TLSSettings
  private let service: Service
  private let log = Shared(Log())

  var port: UInt16 { listener.localAddress.port ?? 0 }
  /// What it has accepted and not forgotten.
  var pairs: [StreamPair] { log.value.pairs }
  /// The first of what came secured, of all connections.
  var received: [UInt8] { log.value.received }
  /// How connections ended, with a failure or without, in order.
  var ends: [StreamError?] { log.value.ends }
  /// What was agreed upon with each peer whose handshake is done, in order.
  var peers: [TLSPeer] { log.value.peers }

  init(_ settings: TLSSettings, _ service: Service = .echo) throws {
    (self.settings, self.service) = (settings, service)
    listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    base = try EventBase.startThread(named: "secure server")
    listener.schedule(on: base) { [settings, service, log, weak base] pair, _ in
      if let base { Self.serve(pair, settings, service, log, on: base) } else { pair.abort() }
    }
  }

  /// With the certificate that is called so.
  convenience init(_ name: String = "localhost", _ service: Service = .echo) throws {
    try self.init(.serving(name), service)
  }

  deinit {
    listener.close()
    forget()
    base.stop()
    base.join()
  }

  /// Takes over a connection that it did not accept, and does its part of the handshake; as a client with settings of one.
  func take(_ socket: RawSocket) {
    let pair = StreamPair(nativeSocket: socket.release(), closesWhenDone: true)
    Self.serve(pair, settings, service, log, on: base)
  }

  /// Cuts what is open.
  func forget() {
    for pair in log.with({ log in
      defer { log.pairs = [] }
      return log.pairs
    }) { pair.abort() }
  }

  /// Ends connections below TLS, which is not told.
  func cut() {
    for pair in pairs {
      if let fd = pair.input.property(.socketNativeHandle) { _ = shutdown(fd, Int32(SHUT_RDWR)) }
    }
  }

  /// Waits until `count` connections have ended.
  func hasEnded(_ count: Int = 1, within seconds: Double = 30) -> Bool {
    eventually(within: seconds) { ends.count >= count }
  }

  // MARK: - One connection

  private static func serve(
    _ pair: StreamPair, _ settings: TLSSettings, _ service: Service, _ log: Shared<Log>, on base: EventBase
  ) {
    let end: @Sendable (ReadStream) -> Void = { input in
      log.with { log in
        log.ends.append(input.error)
        log.pairs.removeAll { $0.input === input }
      }
    }
    if case .upgrade = service {} else if (try? pair.startTLS(settings)) == nil { return pair.abort() }
    if case .none = service {
    } else {
      let hasGreeted = Shared(false)
      pair.input.setClient(.all) { [weak output = pair.output] input, event in
        guard let output else { return }
        // A client that goes at once is heard of with its end only.
        Self.greet(input, hasGreeted, log)
        switch event {
        case .openCompleted, .canAcceptBytes: break
        case .hasBytesAvailable:
          if input.property(.tlsPeer) == nil { return Self.upgrade(input, output, settings) }
          Self.pump(input, output, service, log)
        case .endEncountered, .errorOccurred:
          // Both halves, before the list lets go of them.
          output.close()
          input.close()
          end(input)
        }
      }
      pair.output.setClient([.canAcceptBytes]) { [weak input = pair.input] output, _ in
        guard let input, input.property(.tlsPeer) != nil else { return }
        Self.greet(output, hasGreeted, log)
        // Told once, since it closes then.
        if case .sends(let bytes) = service {
          try? output.write(moving: StreamBuffer(bytes))
          output.close()
        }
        Self.pump(input, output, service, log)
      }
    }
    // The list of pairs keeps them until they end.
    log.with { $0.pairs.append(pair) }
    pair.schedule(on: base)
    pair.open()
  }

  /// Notes what was agreed upon, before anything is answered.
  private static func greet(_ stream: SocketStream, _ hasGreeted: Shared<Bool>, _ log: Shared<Log>) {
    guard !hasGreeted.value, let peer = stream.property(.tlsPeer) else { return }
    hasGreeted.with { $0 = true }
    log.with { $0.peers.append(peer) }
  }

  private static func upgrade(_ input: ReadStream, _ output: WriteStream, _ settings: TLSSettings) {
    let command = Array("STARTTLS\r\n".utf8)
    var isAsked = false
    input.withAvailableBytes(atLeast: command.count) { bytes in
      isAsked = bytes.withUnsafeBytes { $0.elementsEqual(command) }
      return bytes.byteCount
    }
    guard isAsked else { return }
    try? output.write(moving: StreamBuffer(Array("220 go\r\n".utf8)))
    input.setProperty(.tlsSettings, to: settings)
  }

  /// Sends back what has come, or only keeps it.
  private static func pump(
    _ input: ReadStream, _ output: WriteStream, _ service: Service, _ log: Shared<Log>
  ) {
    var echoes = true
    if case .sends = service { echoes = false }
    // What is not taken stays to be read, once the output tells of room.
    guard !echoes || output.canAcceptBytes else { return }
    input.withAvailableBytes { bytes in
      let bytes = bytes.withUnsafeBytes { Array($0) }
      // Before it is answered: whoever has the answer looks here.
      log.with { if $0.received.count < 65_536 { $0.received += bytes } }
      if echoes { try? output.write(moving: StreamBuffer(bytes)) }
      return bytes.count
    }
  }
}

#endif
