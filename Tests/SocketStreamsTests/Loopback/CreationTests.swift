// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Making pairs on real sockets", .timeLimit(.minutes(2)))
struct CreationTests {
  // S1, S24, S179
  @Test("making a pair looks nothing up and connects to nothing")
  func nothingHappens() throws {
    let listener = try RawListener()
    let lookups = CountingResolver()
    var options = ConnectionOptions()
    options.resolver = lookups
    let named = StreamPair(host: "name.test", port: listener.port, options: options)
    let direct = StreamPair(address: listener.address)
    let base = try EventBase.startThread()
    let log = PairLog()
    log.watch(named, on: base)
    log.watch(direct, on: base)
    pass(base)
    #expect(listener.accept(seconds: 0) == nil)
    #expect(lookups.count == 0)
    for stream in [named.input, named.output, direct.input, direct.output] as [SocketStream] {
      #expect(stream.status == .notOpen && stream.error == nil)
      #expect(stream.property(.socketNativeHandle) == nil)
    }
    #expect(log.all.isEmpty)
  }

  // S5, S38
  @Test("both halves use one connection and one descriptor")
  func oneConnection() throws {
    let listener = try RawListener()
    let pair = StreamPair(address: listener.address)
    #expect(pair.open())
    let peer = try #require(listener.accept())
    #expect(pair.output.waitUntilReady(timeout: .seconds(5)))
    #expect(listener.accept(seconds: 0) == nil)
    let fd = try #require(pair.input.property(.socketNativeHandle))
    #expect(pair.output.property(.socketNativeHandle) == fd)
    #expect(try pair.output.write([1, 2, 3]) == 3)
    #expect(peer.receive(3) == [1, 2, 3])
    peer.send([4, 5])
    #expect(try read(2, from: pair.input) == [4, 5])
  }

  // S3, S6, S41, A18
  @Test("one half alone connects, and its close alone ends the connection", arguments: [true, false])
  func oneHalf(reading: Bool) throws {
    let listener = try RawListener()
    let pair = StreamPair(address: listener.address)
    let stream: SocketStream = reading ? pair.input : pair.output
    let other: SocketStream = reading ? pair.output : pair.input
    #expect(stream.open())
    let peer = try #require(listener.accept())
    #expect(eventually(within: 5) { stream.status == .open })
    #expect(other.status == .notOpen)
    if reading {
      peer.send([7])
      #expect(try read(1, from: pair.input) == [7])
    } else {
      #expect(try pair.output.write([7]) == 1)
      #expect(peer.receive(1) == [7])
    }
  }

  // S3, S6, S8, A18
  @Test("the close of a half whose other half was declined ends the connection", arguments: [true, false])
  func declined(reading: Bool) throws {
    let listener = try RawListener()
    let reader = reading ? StreamPair(address: listener.address).input : nil
    let writer = reading ? nil : StreamPair(address: listener.address).output
    let stream: SocketStream = try #require(reader ?? writer)
    #expect(stream.open())
    let peer = try #require(listener.accept())
    #expect(eventually(within: 5) { stream.status == .open })
    let socket = try #require(stream.property(.socketNativeHandle).flatMap { SocketIdentity($0) })
    #expect(socket.isOpen)
    reader?.close()
    writer?.close()
    #expect(peer.receiveEnd(seconds: 5) == 0)
    #expect(eventually(within: 5) { !socket.isOpen })
  }

  // S7, S151
  @Test("dropping one half closes it and leaves the other usable", arguments: [true, false])
  func droppedHalf(dropsReader: Bool) throws {
    let listener = try RawListener()
    var reader: ReadStream?
    var writer: WriteStream?
    do {
      let pair = StreamPair(address: listener.address)
      (reader, writer) = (pair.input, pair.output)
    }
    reader?.open()
    writer?.open()
    let peer = try #require(listener.accept())
    #expect(writer?.waitUntilReady(timeout: .seconds(5)) == true)
    if dropsReader {
      reader = nil
      #expect(try writer?.write([1]) == 1)
      #expect(peer.receive(1) == [1])
      writer = nil
      #expect(peer.receiveEnd(seconds: 5) == 0)
    } else {
      writer = nil
      #expect(peer.receiveEnd(seconds: 5) == 0)
      peer.send([2])
      #expect(try read(1, from: reader!) == [2])
    }
  }

  // S8
  @Test("the connection ends once, whichever half goes last, on whatever threads", arguments: 0..<4)
  func eitherOrder(order: Int) throws {
    for _ in 0..<25 {
      let link = try TCPLink()
      let socket = try #require(link.pair.input.property(.socketNativeHandle).flatMap { SocketIdentity($0) })
      let (input, output) = (link.pair.input, link.pair.output)
      switch order {
      case 0: input.close(); output.close()
      case 1: output.close(); input.close()
      default:
        let first = onThread { order == 2 ? input.close() : output.abort() }
        let second = onThread { output.close() }
        #expect(first.wait(seconds: 5) && second.wait(seconds: 5))
      }
      let code = link.peer.receiveEnd(seconds: 5)
      #expect(code == 0 || order == 3 && code == ECONNRESET)
      link.peer.close()
      #expect(eventually(within: 5) { !socket.isOpen })
    }
  }

  // S11, A1, A2, A3, A4
  @Test("names, literals with and without brackets, addresses and host:port texts connect")
  func targets() throws {
    var options = ConnectionOptions()
    options.resolver = StaticResolver(["name.test": ["127.0.0.1"], "six.test": ["::1"]])
    for (ip, host) in [
      ("127.0.0.1", "name.test"), ("127.0.0.1", "127.0.0.1"), ("::1", "six.test"), ("::1", "::1"),
      ("::1", "[::1]"),
    ] {
      let listener = try RawListener(address: ip)
      var pairs = [StreamPair(host: host, port: listener.port, options: options)]
      pairs.append(StreamPair(address: SocketAddress(ip: ip, port: listener.port)!))
      if !host.contains(":") || host.hasPrefix("[") {
        pairs.append(try StreamPair("\(host):\(listener.port)", options: options))
      }
      for pair in pairs {
        #expect(pair.open())
        let peer = try #require(listener.accept(), "\(host)")
        #expect(try writeAll([1], to: pair.output) == 1)
        #expect(peer.receive(1) == [1])
        #expect(pair.input.property(.remoteAddress) == listener.address)
      }
    }
  }

  // S16, S181, A3
  @Test("a Unix address connects to a Unix socket")
  func unix() throws {
    let directory = try SocketDirectory()
    let listener = try RawListener(unixPath: directory.file())
    for pair in [
      try StreamPair(unixPath: directory.file()),
      StreamPair(address: try SocketAddress(unixPath: directory.file())),
    ] {
      #expect(pair.open())
      let peer = try #require(listener.accept())
      #expect(try writeAll([1], to: pair.output) == 1)
      #expect(peer.receive(1) == [1])
      #expect(pair.input.property(.remotePortNumber) == nil)
      #expect(pair.input.property(.remoteAddress)?.unixPath == directory.file())
      pair.close()
      #expect(peer.receiveEnd(seconds: 5) == 0)
    }
  }

  // S12, S13, A4
  @Test("an empty host, a port of 0 and texts that are no host:port are refused")
  func refused() {
    for pair in [StreamPair(host: "", port: 80), StreamPair(host: "127.0.0.1", port: 0)] {
      #expect(!pair.input.open())
      #expect(pair.input.status == .error)
      #expect(pair.input.error?.domain == .streams)
      #expect(pair.input.error?.code == StreamError.Misuse.badAddress.rawValue)
      #expect(!pair.output.open())
      #expect(pair.output.error == pair.input.error)
    }
    for text in [
      "host:65536", "host:70000", "host:-1", "host:0", ":80", "", "host", "http://host:80", "::1:80x",
    ] {
      #expect(throws: StreamError.self, "\(text)") { try StreamPair(text) }
    }
  }

  // S180, S181, C10
  @Test("the host's name and port are as given, the addresses the socket's own")
  func names() throws {
    let listener = try RawListener()
    var options = ConnectionOptions()
    options.resolver = StaticResolver(["name.test": ["127.0.0.1"]])
    let pair = StreamPair(host: "name.test", port: listener.port, options: options)
    #expect(pair.input.property(.remoteHostName) == "name.test")
    #expect(pair.output.property(.remotePortNumber) == listener.port)
    #expect(pair.input.property(.remoteAddress) == nil && pair.input.property(.localAddress) == nil)
    pair.open()
    let peer = try #require(listener.accept())
    #expect(pair.output.waitUntilReady(timeout: .seconds(5)))
    #expect(pair.input.property(.remoteAddress) == listener.address)
    #expect(pair.input.property(.localAddress)?.description == peer.peerName)
    #expect(!pair.input.setProperty(.remoteHostName, to: "other"))
    #expect(!pair.input.setProperty(.remotePortNumber, to: 1))
    #expect(!pair.input.setProperty(.socketNativeHandle, to: 1))
    pair.close()
    #expect(pair.input.property(.remoteHostName) == "name.test")

    let native = try TCPLink()
    #expect(native.pair.input.property(.remoteHostName) == nil)
    #expect(native.pair.input.property(.remotePortNumber).map { "127.0.0.1:\($0)" } == native.peer.localName)
  }

  // A19, C10
  @Test("a socket pair of the kernel joins two pairs")
  func connectedPairs() throws {
    let (one, two) = try StreamPair.connected()
    #expect(one.open() && two.open())
    #expect(one.input.status == .open && two.output.status == .open)
    let bytes = pattern(300_000)
    let reading = Shared<[UInt8]?>(nil)
    let done = onThread { reading.with { $0 = try? readToEnd(two.input) } }
    #expect(try writeAll(bytes, to: one.output) == bytes.count)
    one.output.close()
    #expect(done.wait(seconds: 10))
    #expect(reading.value == bytes)
    #expect(try two.output.write([9]) == 1)
    #expect(try read(1, from: one.input) == [9])
    two.close()
    #expect(try readToEnd(one.input) == [])
  }
}

/// Knows no name, and counts who asks.
final class CountingResolver: Resolver {
  private struct Request: ResolverRequest { func cancel() {} }
  private let asked = Shared(0)
  var count: Int { asked.value }

  func resolve(
    _ host: String, port: UInt16, family: AddressFamily,
    completion: @escaping @Sendable (Result<[SocketAddress], StreamError>) -> Void
  ) -> any ResolverRequest {
    asked.with { $0 += 1 }
    return Request()
  }
}
