// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import Testing

@testable import SocketStreams

@Suite("The connector", .timeLimit(.minutes(1)))
struct ConnectorTests {
  private func address(_ ip: String, _ port: UInt16) -> SocketAddress { SocketAddress(ip: ip, port: port)! }

  // A1, A3, S11
  @Test(
    "a name, a numeric host with or without brackets, and a ready address connect",
    arguments: ["127.0.0.1", "::1"])
  func targets(ip: String) async throws {
    let listener = try RawListener(address: ip)
    let hosts = ip == "::1" ? ["name.test", "::1", "[::1]"] : ["name.test", "127.0.0.1"]
    for host in hosts + [nil] {
      let connection =
        if let host {
          Connection(host: host, port: listener.port, ["name.test": [ip]])
        } else {
          Connection(.address(address(ip, listener.port)))
        }
      let client = try #require(await connection.socket())
      let server = try #require(listener.accept())
      #expect(server.peerName == client.localName)
      #expect(client.peerName == address(ip, listener.port).description)
      #expect(server.send([1, 2]) == 0)
      #expect(SystemCalls.setNonBlocking(client.fd, false) == 0)
      #expect(client.receive(2) == [1, 2])
    }
  }

  // A5, S52, S53, report 4
  @Test("a name whose first address refuses opens on the second", arguments: ["127.0.0.2", "::1"])
  func secondAddress(first: String) async throws {
    let (refused, listener) = try onOnePort {
      let refused = try RefusedPort(address: first)
      return (refused, try RawListener(port: refused.port))
    }
    let connection = Connection(host: "two.test", port: refused.port, ["two.test": [first, "127.0.0.1"]])
    #expect(await connection.socket()?.peerName == "127.0.0.1:\(refused.port)")
    #expect(listener.accept() != nil)
    let steps = connection.steps.value
    #expect(steps.map(\.address.ip) == [first, first, "127.0.0.1"])
    #expect(steps.map(\.code) == [nil, ECONNREFUSED, nil])
  }

  // A6, report 4
  @Test("an address that swallows attempts is overtaken by the next in well under a second")
  func blackHoleFirst() async throws {
    let (hole, listener) = try onOnePort {
      let hole = try BlackHole(address: "127.0.0.2")
      return (hole, try RawListener(port: hole.port))
    }
    var options = ConnectionOptions()
    options.attemptDelay = .milliseconds(100)
    let connection = Connection(
      host: "two.test", port: hole.port, ["two.test": ["127.0.0.2", "127.0.0.1"]], options)
    #expect(await connection.socket()?.peerName == "127.0.0.1:\(hole.port)")
    #expect(listener.accept() != nil)
    #expect(connection.duration < .seconds(1))
    #expect(connection.duration >= .milliseconds(90))
    #expect(connection.steps.value.map(\.code) == [nil, nil])
  }

  // A10, S52, S165, report 61
  @Test("when every address fails, the error has the last one's code and lists them all")
  func allFail() async throws {
    let (first, second) = (try RefusedPort(), "ff00::1")
    let connection = Connection(host: "two.test", port: first.port, ["two.test": ["127.0.0.1", second]])
    let error = try #require(await connection.error())
    #expect(error.domain == .posix && error.operation == "connect")
    #expect(error.attempts.map(\.address) == [address("127.0.0.1", first.port), address(second, first.port)])
    #expect(error.attempts.first?.code == ECONNREFUSED)
    #expect(error.attempts.last?.code == error.code && error.code != ECONNREFUSED)
  }

  // A8, A10, S57
  @Test("the time limit ends a connection with ETIMEDOUT and lists what was tried")
  func timeout() async throws {
    let hole = try BlackHole()
    var options = ConnectionOptions()
    options.connectTimeout = .milliseconds(50)
    let connection = Connection(host: "hole.test", port: hole.port, ["hole.test": ["127.0.0.1"]], options)
    let attempts = [ConnectAttempt(address: address("127.0.0.1", hole.port), code: ETIMEDOUT)]
    #expect(
      await connection.error()
        == StreamError(.posix, code: ETIMEDOUT, operation: "connect", attempts: attempts))
    #expect(connection.duration >= .milliseconds(45))
  }

  // B4, S57
  @Test("the time limit covers the look-up")
  func timeoutDuringLookup() async throws {
    let lookups = HungLookups()
    var options = ConnectionOptions()
    options.resolver = SystemResolver(maximumThreads: 1, lookup: lookups.lookUp)
    options.connectTimeout = .milliseconds(30)
    let connection = Connection(.host("hung.test", 80), options)
    #expect(await connection.error() == .posix(ETIMEDOUT, "connect"))
    lookups.letGo(1)
  }

  @Test("a time limit that is over before it begins fails at once", arguments: [Duration.zero, .seconds(-1)])
  func noTime(timeout: Duration) async throws {
    let hole = try BlackHole()
    var options = ConnectionOptions()
    options.connectTimeout = timeout
    #expect(await Connection(.address(address("127.0.0.1", hole.port)), options).error()?.code == ETIMEDOUT)
  }

  // B5, S12, S166, report 5
  @Test("a host that does not resolve fails in the resolver's domain, once, after the call that starts")
  func unknownHost() async throws {
    for host in ["no-such-host.invalid", ""] {
      let error = try #require(await Connection(.host(host, 80)).error())
      #expect(error.domain == .resolver && error.code != 0)
      #expect(error.attempts == [])
    }
  }

  // A21, report 5
  @Test("the outcome never comes inside the call that starts, even on the loop's thread and on a Unix socket")
  func outcomeComesLater() async throws {
    let directory = try SocketDirectory()
    let listener = try RawListener(unixPath: directory.file())
    let path = try SocketAddress(unixPath: directory.file())
    let (connection, countInside) = await withCheckedContinuation { continuation in
      EventLoop.shared.execute {
        let connection = Connection(.address(path))
        continuation.resume(returning: (connection, connection.outcomeCount))
      }
    }
    #expect(countInside == 0)
    #expect(await connection.socket() != nil)
    #expect(listener.accept() != nil)
  }

  // A14
  @Test("connections come from the chosen local address, and from the chosen port")
  func localAddress() async throws {
    let listener = try RawListener()
    var options = ConnectionOptions()
    options.localAddress = address("127.0.0.3", 0)
    let any = try #require(await Connection(.address(address("127.0.0.1", listener.port)), options).socket())
    #expect(any.localName?.hasPrefix("127.0.0.3:") == true)
    #expect(listener.accept()?.peerName == any.localName)

    let chosen = try RefusedPort(address: "127.0.0.3", isShared: true)
    options.localAddress = address("127.0.0.3", chosen.port)
    let socket = try #require(
      await Connection(.address(address("127.0.0.1", listener.port)), options).socket())
    #expect(socket.localName == "127.0.0.3:\(chosen.port)")
  }

  // A14
  @Test("addresses of another family than the local one's fail, and the others are tried")
  func localFamily() async throws {
    let listener = try RawListener()
    var options = ConnectionOptions()
    options.localAddress = address("127.0.0.1", 0)
    let table = ["mixed.test": ["::1", "127.0.0.1"]]
    let connection = Connection(host: "mixed.test", port: listener.port, table, options)
    #expect(await connection.socket() != nil)
    #expect(connection.steps.value.map(\.code) == [nil, EAFNOSUPPORT, nil])

    options.localAddress = address("192.0.2.1", 0)
    let impossible = Connection(.address(address("127.0.0.1", listener.port)), options)
    #expect(await impossible.error()?.code == EADDRNOTAVAIL)
  }

  // H3, I1, I2, I7
  @Test("the connected socket is close-on-exec, does not block, and has the options that were chosen")
  func options() async throws {
    let listener = try RawListener()
    var options = ConnectionOptions()
    options.keepAlive = .init(idle: .seconds(7), interval: .milliseconds(2500), count: 4)
    options.sendBufferSize = 20_000
    options.receiveBufferSize = 30_000
    let target = ConnectTarget.address(address("127.0.0.1", listener.port))
    let socket = try #require(await Connection(target, options).socket())
    func option(_ socket: RawSocket, _ level: Int32, _ name: Int32) -> Int32? {
      SystemCalls.option(socket.fd, level: level, name: name)
    }
    let tcp = Int32(IPPROTO_TCP)
    #expect(fcntl(socket.fd, F_GETFD) & FD_CLOEXEC == FD_CLOEXEC)
    #expect(fcntl(socket.fd, F_GETFL) & O_NONBLOCK == O_NONBLOCK)
    #expect(option(socket, tcp, TCP_NODELAY) == 1)
    #expect(option(socket, SOL_SOCKET, SO_KEEPALIVE) == 1)
    #expect(option(socket, tcp, TCP_KEEPIDLE) == 7)
    #expect(option(socket, tcp, TCP_KEEPINTVL) == 3)
    #expect(option(socket, tcp, TCP_KEEPCNT) == 4)
    #expect(option(socket, SOL_SOCKET, SO_SNDBUF) == 40_000)
    #expect(option(socket, SOL_SOCKET, SO_RCVBUF) == 60_000)

    var plain = ConnectionOptions()
    plain.noDelay = false
    let other = try #require(await Connection(target, plain).socket())
    #expect(option(other, tcp, TCP_NODELAY) == 0)
    #expect(option(other, SOL_SOCKET, SO_KEEPALIVE) == 0)
  }

  // H3
  @Test("probe times outside of what the kernel takes are moved into it")
  func extremeKeepAlive() async throws {
    let listener = try RawListener()
    let target = ConnectTarget.address(address("127.0.0.1", listener.port))
    for (given, expected) in [(Duration.zero, 1), (.seconds(-3), 1), (.seconds(1 << 40), 32_767)]
      as [(Duration, Int32)]
    {
      var options = ConnectionOptions()
      options.keepAlive = .init(idle: given, interval: given, count: given > .zero ? 9999 : -1)
      let socket = try #require(await Connection(target, options).socket())
      #expect(SystemCalls.option(socket.fd, level: Int32(IPPROTO_TCP), name: TCP_KEEPIDLE) == expected)
      #expect(SystemCalls.option(socket.fd, level: Int32(IPPROTO_TCP), name: TCP_KEEPINTVL) == expected)
      #expect(
        SystemCalls.option(socket.fd, level: Int32(IPPROTO_TCP), name: TCP_KEEPCNT)
          == (given > .zero ? 127 : 1))
    }
  }

  @Test("a port on which nobody listens refuses, even when the kernel would connect the socket to itself")
  func selfConnection() async throws {
    let port = try RefusedPort(isShared: true)
    var options = ConnectionOptions()
    options.localAddress = address("127.0.0.1", port.port)
    #expect(
      await Connection(.address(address("127.0.0.1", port.port)), options).error()?.code == ECONNREFUSED)
  }

  @Test("thousands of addresses that fail at once are all tried, one after another")
  func manyAddresses() async throws {
    var options = ConnectionOptions()
    options.localAddress = try SocketAddress(unixPath: "/nowhere")
    let table = ["many.test": (0..<5000).map { "127.0.\($0 / 250).\($0 % 250)" }]
    let error = try #require(await Connection(host: "many.test", port: 9, table, options).error())
    #expect(error.attempts.count == 5000)
    #expect(error.code == EAFNOSUPPORT)
  }
}
