// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a listener listens: both versions of IP, and sockets that somebody else made.
import Glibc
import SocketStreams
import Testing

@Suite("A listener's addresses", .timeLimit(.minutes(2)))
struct ListenerAddressTests {
  private static let six = SocketAddress(ip: "::", port: 0)!

  private func open(_ ip: String, _ port: UInt16) -> StreamPair {
    let pair = StreamPair(address: SocketAddress(ip: ip, port: port)!)
    pair.open()
    return pair
  }

  // C2, C10
  @Test("a listener on :: that accepts IPv4 serves both, and shows each by its own kind of address")
  func dual() throws {
    let server = try AcceptingServer(Self.six, acceptsIPv4: true)
    let port = try #require(server.listener.localAddress.port)
    #expect(server.listener.localAddress.ip == "::")
    for (index, ip) in ["127.0.0.1", "::1"].enumerated() {
      let client = open(ip, port)
      #expect(eventually(within: 5) { client.input.status == .open })
      #expect(server.hasAccepted(index + 1))
      let address = try #require(client.input.property(.localAddress))
      #expect(address.ip == ip)
      let pair = server.pairs.value[index]
      #expect(server.peers.value[index] == address)
      #expect(pair.input.property(.remoteAddress) == address)
      #expect(pair.input.property(.localAddress) == SocketAddress(ip: ip, port: port))
      #expect(pair.input.property(.remotePortNumber) == address.port)
    }
    server.listener.close()
  }

  // C2, C8
  @Test("an IPv4 peer of a listener for both is limited by its IPv4 address")
  func dualLimit() throws {
    let server = try AcceptingServer(Self.six, acceptsIPv4: true, limits: ConnectionLimits(perPeer: 1))
    let first = try #require(server.connect(from: "127.0.0.2"))
    let second = try #require(server.connect(from: "127.0.0.3"))
    #expect(server.hasAccepted(2))
    #expect(try #require(server.connect(from: "127.0.0.2")).receiveEnd() == 0)
    #expect(eventually(within: 5) { server.refused.value.map(\.ip) == ["127.0.0.2"] })
    withExtendedLifetime((first, second)) {}
    server.listener.close()
  }

  // C2
  @Test("a listener on :: takes IPv6 alone unless asked, and leaves the port to IPv4")
  func sixOnly() throws {
    let (server, four) = try onOnePort {
      let server = try AcceptingServer(Self.six)
      return (
        server, try AcceptingServer(SocketAddress(ip: "0.0.0.0", port: server.listener.localAddress.port!)!)
      )
    }
    let clients = [
      open("127.0.0.1", server.listener.localAddress.port!), open("::1", server.listener.localAddress.port!),
    ]
    #expect(server.hasAccepted(1) && four.hasAccepted(1))
    #expect(server.peers.value[0].ip == "::1" && four.peers.value[0].ip == "127.0.0.1")
    withExtendedLifetime(clients) {}
    server.listener.close()
    four.listener.close()
  }

  // C2
  @Test(
    "asking for IPv4 changes nothing on an address that is no IPv6 wildcard", arguments: ["127.0.0.1", "::1"])
  func notWildcard(ip: String) throws {
    let server = try AcceptingServer(SocketAddress(ip: ip, port: 0)!, acceptsIPv4: true)
    let client = open(ip, server.listener.localAddress.port!)
    #expect(server.hasAccepted(1))
    #expect(server.peers.value[0].ip == ip)
    withExtendedLifetime(client) {}
    server.listener.close()
  }

  // MARK: - Sockets that listen already

  // C12
  @Test(
    "a socket that listens already is taken over: who waits is accepted, and its descriptor closes with it")
  func adopting() throws {
    let raw = try RawListener()
    let early = try #require(RawSocket(connectingTo: raw))
    let address = SocketAddress(ip: "127.0.0.1", port: raw.port)
    let fd = raw.release()
    let socket = try #require(SocketIdentity(fd))
    #expect(isBlocking(fd))
    _ = fcntl(fd, F_SETFD, 0)
    let server = try AcceptingServer(adopting: NativeSocket(owning: fd))
    #expect(server.listener.localAddress == address)
    #expect(!isBlocking(fd) && closesOnExec(fd))
    #expect(server.hasAccepted(1))
    let pair = server.pairs.value[0]
    #expect(pair.output.property(.noDelay) == true)
    #expect(!isBlocking(pair.input.property(.socketNativeHandle)!))
    #expect(try pair.output.write([5]) == 1)
    #expect(early.receive(1) == [5])
    server.listener.close()
    #expect(eventually(within: 5) { !socket.isOpen })
  }

  // C12, C4
  @Test("the path of an adopted Unix socket stays")
  func adoptingPath() throws {
    let directory = try SocketDirectory()
    let raw = try RawListener(unixPath: directory.file())
    let server = try AcceptingServer(adopting: NativeSocket(owning: raw.release()))
    #expect(server.listener.localAddress.unixPath == directory.file())
    let client = try StreamPair(unixPath: directory.file())
    client.open()
    #expect(server.hasAccepted(1))
    server.listener.close()
    pass(server.base)
    #expect(access(directory.file(), F_OK) == 0)
  }

  private static let misfits: [(String, Int32, @Sendable () -> Int32)] = [
    ("no descriptor", EBADF, { 1_000_000 }),
    ("a file", ENOTSOCK, { Glibc.open("/dev/null", O_RDONLY) }),
    ("a datagram socket", EPROTOTYPE, { socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0) }),
    ("a socket that does not listen", EINVAL, { socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }),
  ]

  // C12
  @Test("what is no listening socket is refused by its kind, and closed", arguments: misfits.indices)
  func unfit(_ index: Int) throws {
    let (name, code, make) = Self.misfits[index]
    let fd = make()
    let identity = SocketIdentity(fd)
    let error = #expect(throws: StreamError.self, "\(name)") {
      try Listener(adopting: NativeSocket(owning: fd))
    }
    #expect(error == .posix(code, "adopt"))
    if code != ENOTSOCK { #expect(identity?.isOpen != true) }
  }

  // MARK: - Other bases

  // C11
  @Test("a connection may be handed over with all that belongs to it to the base that serves it")
  func handingOver() throws {
    let group = try EventBaseGroup(count: 2)
    let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
    let front = try EventBase.startThread()
    let served = Shared<[Bool]>([])
    let kept = Shared<[StreamPair]>([])
    listener.schedule(on: front) { pair, peer in
      let base = group.next()
      base.execute {
        served.with { $0.append(base.isCurrent && peer.ip == "127.0.0.1") }
        pair.schedule(on: base)
        pair.open()
        kept.with { $0.append(pair) }
      }
    }
    let clients = (0..<4).map { _ in RawSocket(connectingTo: listener) }
    #expect(eventually(within: 5) { kept.value.count == 4 })
    #expect(served.value == [true, true, true, true] && listener.connectionCount == 4)
    withExtendedLifetime(clients) {}
    listener.close()
  }
}
