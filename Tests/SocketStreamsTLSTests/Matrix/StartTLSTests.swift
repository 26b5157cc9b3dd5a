// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Securing a connection that has talked in the clear.
#if TLS

import SocketStreams
import SocketStreamsTLS
import Testing

@Suite("Securing an open connection", .timeLimit(.minutes(3)))
struct StartTLSTests {
  static let transports: [ConnectionOptions.Transport] = [.direct, .bufferevent]
  private static let go = Array("220 go\r\n".utf8)

  /// A pair that has asked for TLS and read the answer, and not a byte more.
  private func asked(_ port: UInt16, _ transport: ConnectionOptions.Transport = .direct) throws
    -> StreamPair
  {
    let pair = try greeted(port, transport)
    #expect(try read(8, from: pair.input) == Self.go)
    return pair
  }

  /// A pair that has asked for TLS.
  private func greeted(_ port: UInt16, _ transport: ConnectionOptions.Transport = .direct) throws
    -> StreamPair
  {
    var options = ConnectionOptions()
    options.transport = transport
    let pair = StreamPair(host: "localhost", port: port, options: options)
    pair.open()
    #expect(try read(11, from: pair.input) == Array("220 ready\r\n".utf8))
    _ = try writeAll(Array("STARTTLS\r\n".utf8), to: pair.output)
    return pair
  }

  // J13
  @Test("an open pair is secured, and goes on", arguments: transports)
  func client(transport: ConnectionOptions.Transport) throws {
    let server = try PythonServer("starttls")
    let pair = try asked(server.port, transport)
    #expect(pair.input.property(.tlsPeer) == nil)
    let client = try SecureClient(securing: pair, .trusting())
    #expect(client.failure == nil)
    #expect(client.peer?.certificates.isEmpty == false)
    #expect(try client.echo(100_000))
    #expect(try client.finish())
    server.expect("end notice")
  }

  // J13
  @Test("an open pair is secured by its clients' calls, on its base", arguments: transports)
  func clientWithEvents(transport: ConnectionOptions.Transport) throws {
    let server = try PythonServer("starttls")
    let base = try EventBase.startThread()
    let pair = try asked(server.port, transport)
    let log = PairLog()
    log.watch(pair, on: base)
    #expect(log.hears(.canAcceptBytes, .output, within: 30))
    let before = log.events(.output).count
    try base.sync { try pair.startTLS(.trusting()) }
    // It has to be told of room anew.
    #expect(eventually(within: 30) { log.events(.output).count > before })
    #expect(pair.input.property(.tlsPeer) != nil)
    #expect(try pair.output.write(pattern(1_000)) == 1_000)
    #expect(eventually(within: 30) { log.bytes == pattern(1_000) })
    pair.output.close()
    #expect(log.hears(.endEncountered, .input, within: 30))
    #expect(log.all.count { $0 == .errorOccurred } == 0 && log.strayCount == 0)
    base.stop()
    base.join()
  }

  // J13
  @Test(
    "bytes slipped in behind the answer are no part of what is secured: the handshake fails",
    arguments: transports)
  func injected(transport: ConnectionOptions.Transport) throws {
    let server = try PythonServer("inject")
    let pair = try asked(server.port, transport)
    // They came with the answer, and wait where the handshake finds them, which takes them for no TLS.
    let client = try SecureClient(securing: pair, .trusting())
    #expect(client.failure?.tls == .protocolError, "\(String(describing: client.failure))")
    #expect(pair.input.error == client.failure && client.peer == nil)
  }

  // J13
  @Test("bytes left over in a loan keep a pair from being secured", arguments: transports)
  func leftOver(transport: ConnectionOptions.Transport) throws {
    let server = try PythonServer("inject")
    let pair = try greeted(server.port, transport)
    var lent: [UInt8] = []
    while lent.count < 22, pair.input.waitUntilReady(timeout: .seconds(30)) {
      pair.input.withAvailableBytes(atLeast: 22) { bytes in
        lent = bytes.withUnsafeBytes { Array($0) }
        return 8
      }
    }
    #expect(lent == Self.go + Array("250 INJECTED\r\n".utf8))
    #expect(throws: StreamError.misuse(.unreadBytes, "start TLS")) { try pair.startTLS(.trusting()) }
    // It goes on in the clear.
    #expect(try read(14, from: pair.input) == Array("250 INJECTED\r\n".utf8))
    pair.abort()
  }

  /// A server of ours that talks in the clear first: it reads as much as `reading` says and then answers and secures.
  private func serve(_ mode: String, reading count: Int) throws -> (ServerProcess, StreamPair, StreamError?) {
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let base = try EventBase.startThread()
    let accepted = Shared<StreamPair?>(nil)
    listener.schedule(on: base) { pair, _ in accepted.with { $0 = pair } }
    let port = try #require(listener.localAddress.port)
    let client = try PythonClient.start(mode, port: port)
    try #require(eventually(within: 60) { accepted.value != nil })
    let pair = try #require(accepted.value)
    pair.open()
    _ = try writeAll(Array("220 ready\r\n".utf8), to: pair.output)
    var command: [UInt8] = []
    while command.count < count, pair.input.waitUntilReady(timeout: .seconds(60)) {
      pair.input.withAvailableBytes(atLeast: count) { bytes in
        command = bytes.withUnsafeBytes { Array($0) }
        return 10
      }
    }
    #expect(command.prefix(10).elementsEqual("STARTTLS\r\n".utf8))
    var failure: StreamError?
    do {
      // Whoever secures first and answers then would send the answer secured.
      _ = try writeAll(Self.go, to: pair.output)
      try pair.startTLS(.serving())
    } catch { failure = error as? StreamError }
    base.stop()
    base.join()
    return (client, pair, failure)
  }

  // J13
  @Test("a server secures an open pair, too")
  func server() throws {
    let (client, pair, failure) = try serve("starttls", reading: 10)
    #expect(failure == nil)
    #expect(try read(1_000, from: pair.input, seconds: 60) == pattern(1_000))
    #expect(try writeAll(pattern(1_000), to: pair.output) == 1_000)
    client.expect("echoed same")
    #expect(try readToEnd(pair.input) == [])
    pair.close()
    client.expect("end notice after 0")
    client.expect("done")
  }

  // J13
  @Test("a command slipped in behind the request is refused by a server, in a loan")
  func serverInjected() throws {
    let (client, pair, failure) = try serve("inject", reading: 20)
    #expect(failure == .misuse(.unreadBytes, "start TLS"))
    pair.abort()
    client.expect("failed")
  }

  // J13
  @Test("a command slipped in behind the request is refused by a server, unread")
  func serverInjectedUnread() throws {
    let listener = try RawListener()
    let client = try PythonClient.start("inject", port: listener.port)
    let socket = try #require(listener.accept(seconds: 60))
    let pair = StreamPair(nativeSocket: socket.release(), closesWhenDone: true)
    pair.open()
    _ = try writeAll(Array("220 ready\r\n".utf8), to: pair.output)
    #expect(try read(10, from: pair.input, seconds: 60) == Array("STARTTLS\r\n".utf8))
    _ = try writeAll(Self.go, to: pair.output)
    let secured = try SecureClient(securing: pair, .serving())
    #expect(secured.failure?.tls == .protocolError, "\(String(describing: secured.failure))")
    pair.close()
    client.expect("failed")
  }

  // J13, S189, S190
  @Test("a pair is secured once, and asking for the same again is no error")
  func twice() throws {
    let server = try PythonServer("starttls")
    let pair = try asked(server.port)
    let client = try SecureClient(securing: pair, .trusting())
    try pair.startTLS(.trusting())
    #expect(throws: StreamError.misuse(.secured, "start TLS")) { try pair.startTLS(.client()) }
    #expect(!pair.input.setProperty(.tlsSettings, to: nil))
    #expect(try client.echo())
  }

  // S188, S189, S190
  @Test("as a property, settings count for both halves and can be taken off before the handshake")
  func property() throws {
    let settings = try TLSSettings.trusting()
    let server = try PythonServer("echo")
    let pair = StreamPair(host: "localhost", port: server.port)
    #expect(pair.input.property(.tlsSettings) == nil)
    #expect(pair.input.setProperty(.tlsSettings, to: settings))
    #expect(pair.output.property(.tlsSettings) == settings)
    #expect(pair.output.setProperty(.tlsSettings, to: settings))
    #expect(pair.output.setProperty(.tlsSettings, to: nil))
    #expect(pair.input.property(.tlsSettings) == nil)
    #expect(pair.output.setProperty(.tlsSettings, to: settings))
    pair.open()
    #expect(pair.output.waitUntilReady(timeout: .seconds(60)))
    #expect(pair.input.property(.tlsPeer) != nil)
    #expect(pair.input.setProperty(.tlsSettings, to: settings))
    #expect(!pair.input.setProperty(.tlsSettings, to: TLSSettings.client()))
    pair.abort()
  }
}

#endif
