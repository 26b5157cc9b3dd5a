// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Listeners", .timeLimit(.minutes(2)))
struct ListenerTests {
  /// Accepts and keeps what it accepts.
  private final class Server: Sendable {
    let listener: Listener
    let base: EventBase
    let pairs = Shared<[StreamPair]>([])
    let peers = Shared<[SocketAddress]>([])
    let strays = Shared(0)

    init(_ address: SocketAddress, backlog: Int32 = 128) throws {
      listener = try Listener(address: address, backlog: backlog)
      base = try EventBase.startThread()
    }

    func start(on other: EventBase? = nil) {
      let base = other ?? base
      listener.schedule(on: base) { [self, weak base] pair, peer in
        if base?.isCurrent != true { strays.with { $0 += 1 } }
        pairs.with { $0.append(pair) }
        peers.with { $0.append(peer) }
      }
    }

    func connect() -> RawSocket? { RawSocket(connectingTo: listener) }
  }

  private static let anyPort = SocketAddress(ip: "127.0.0.1", port: 0)!

  // C1, C3, C10, F15
  @Test(
    "a listener on port 0 tells its port, and each stream knows both ends", arguments: ["127.0.0.1", "::1"])
  func accepts(ip: String) throws {
    let server = try Server(SocketAddress(ip: ip, port: 0)!)
    let address = server.listener.localAddress
    #expect(address.ip == ip && address.port != 0)
    server.start()
    let client = StreamPair(address: address)
    client.open()
    #expect(eventually(within: 5) { server.pairs.value.count == 1 && client.input.status == .open })
    let accepted = server.pairs.value[0]
    #expect(accepted.input.status == .notOpen)
    #expect(accepted.open())
    #expect(accepted.input.status == .open && accepted.output.status == .open)
    #expect(accepted.input.property(.localAddress) == address)
    #expect(accepted.input.property(.remoteAddress) == client.input.property(.localAddress))
    #expect(server.peers.value == [client.input.property(.localAddress)])
    #expect(try accepted.output.write([1]) == 1)
    #expect(try read(1, from: client.input) == [1])
    #expect(server.strays.value == 0)
    server.listener.close()
  }

  // I1, S178
  @Test(
    "an accepted connection sends small writes at once, as one that was made does",
    arguments: ["127.0.0.1", "::1"])
  func noDelay(ip: String) throws {
    let server = try Server(SocketAddress(ip: ip, port: 0)!)
    server.start()
    let client = StreamPair(address: server.listener.localAddress)
    client.open()
    #expect(eventually(within: 5) { server.pairs.value.count == 1 })
    let accepted = server.pairs.value[0]
    #expect(accepted.open())
    #expect(accepted.output.property(.noDelay) == true)
    server.listener.close()
    withExtendedLifetime(client) {}
  }

  // C3
  @Test("a listener on one address does not answer on another")
  func oneAddress() throws {
    let server = try Server(Self.anyPort)
    server.start()
    let other = StreamPair(
      address: SocketAddress(ip: "127.0.0.2", port: server.listener.localAddress.port!)!)
    other.open()
    #expect(eventually(within: 5) { other.input.status == .error })
    #expect(other.input.error?.code == ECONNREFUSED)
    server.listener.close()
  }

  // C4
  @Test("a Unix listener replaces a stale socket file, and removes its own at close")
  func unixPath() throws {
    let directory = try SocketDirectory()
    let path = directory.file()
    let address = try SocketAddress(unixPath: path)
    do {
      let stale = try RawListener(unixPath: path)
      #expect(throws: StreamError.self, "in use") { try Listener(address: address) }
      stale.close()
    }
    #expect(access(path, F_OK) == 0, "the file of a listener that is gone")
    let server = try Server(address)
    server.start()
    let client = try StreamPair(unixPath: path)
    client.open()
    #expect(eventually(within: 5) { server.pairs.value.count == 1 })
    server.listener.close()
    #expect(eventually(within: 5) { access(path, F_OK) != 0 })
  }

  // C4
  @Test("a file that is no socket stays, and a path that was replaced meanwhile is not removed")
  func foreignFile() throws {
    let directory = try SocketDirectory()
    let path = directory.file()
    let address = try SocketAddress(unixPath: path)
    let file = fopen(path, "w")
    fclose(file)
    let error = #expect(throws: StreamError.self) { try Listener(address: address) }
    #expect(error?.code == EADDRINUSE && error?.domain == .posix)
    #expect(access(path, F_OK) == 0)
    unlink(path)

    let first = try Listener(address: address)
    unlink(path)
    let second = try Listener(address: address)
    first.close()
    #expect(access(path, F_OK) == 0)
    second.close()
    #expect(access(path, F_OK) != 0)
  }

  // C5
  @Test("an address that is in use is an error at once; after a close it is free at once")
  func inUse() throws {
    let first = try Listener(address: Self.anyPort)
    let error = #expect(throws: StreamError.self) { try Listener(address: first.localAddress) }
    #expect(error?.code == EADDRINUSE)
    first.close()
    let second = try Listener(address: first.localAddress)
    #expect(second.localAddress == first.localAddress)
    second.close()
  }

  // C7
  @Test("unscheduled, connections wait; scheduled again, on whatever base, they are accepted")
  func pause() throws {
    let server = try Server(Self.anyPort)
    let early = server.connect()
    #expect(early != nil, "the kernel accepts before the listener is scheduled")
    server.start()
    #expect(eventually(within: 5) { server.pairs.value.count == 1 })
    server.listener.unschedule()
    pass(server.base)
    let late = (0..<3).map { _ in server.connect() }
    pass(server.base)
    #expect(server.pairs.value.count == 1)
    let other = try EventBase.startThread()
    server.start(on: other)
    #expect(eventually(within: 5) { server.pairs.value.count == 4 })
    #expect(server.strays.value == 0)
    withExtendedLifetime(late) {}
    server.listener.close()
  }

  // C1: closing is the end of it.
  @Test("a closed listener refuses those that wait and those that come, and cannot be scheduled")
  func close() throws {
    let server = try Server(Self.anyPort)
    let waiting = try #require(server.connect())
    server.listener.close()
    #expect([0, ECONNRESET].contains(waiting.receiveEnd(seconds: 5)))
    #expect(server.connect() == nil)
    server.start()
    pass(server.base)
    #expect(server.pairs.value.isEmpty)
    #expect(server.connect() == nil)
  }

  // A16: the accept closure neither keeps nor schedules the pair.
  @Test("a pair that the accept closure ignores is closed")
  func ignored() throws {
    let listener = try Listener(address: Self.anyPort)
    let base = try EventBase.startThread()
    listener.schedule(on: base) { _, _ in }
    let client = StreamPair(address: listener.localAddress)
    client.open()
    #expect(try readToEnd(client.input) == [])
    listener.close()
  }

  // C11
  @Test("accepted streams may live on another base than the listener's")
  func otherBase() throws {
    let (front, back) = (try EventBase.startThread(), try EventBase.startThread())
    let listener = try Listener(address: Self.anyPort)
    let log = PairLog()
    let kept = Shared<[StreamPair]>([])
    listener.schedule(on: front) { pair, _ in
      log.watch(pair, on: back)
      pair.open()
      kept.with { $0.append(pair) }
    }
    let client = StreamPair(address: listener.localAddress)
    client.open()
    #expect(try writeAll([1, 2], to: client.output) == 2)
    #expect(eventually(within: 5) { log.bytes == [1, 2] })
    #expect(log.strayCount == 0)
    listener.close()
  }

  // C7, rule 7 of the architecture
  @Test("from within the accept closure a listener may be closed, unscheduled and scheduled anew")
  func insideAccept() throws {
    let server = try Server(Self.anyPort)
    let waiting = (0..<4).map { _ in server.connect() }
    let counts = Shared<[Int]>([0, 0])
    let listener = server.listener
    listener.schedule(on: server.base) { [weak listener, base = server.base] _, _ in
      counts.with { $0[0] += 1 }
      listener?.schedule(on: base) { _, _ in
        counts.with { $0[1] += 1 }
        if counts.value[1] == 2 { listener?.close() }
      }
    }
    #expect(eventually(within: 5) { counts.value == [1, 2] })
    pass(server.base)
    #expect(counts.value == [1, 2])
    #expect(server.connect() == nil)
    withExtendedLifetime(waiting) {}
  }

  // C9
  @Test("without descriptors a listener waits without spinning, and goes on when some return")
  func noDescriptors() async {
    await #expect(processExitsWith: .success) {
      let server = try Server(Self.anyPort)
      let clients = (0..<5).map { _ in server.connect() }
      #expect(clients.allSatisfy { $0 != nil })
      let descriptors = processDescriptors()
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let usual = limit.rlim_cur
      limit.rlim_cur = rlim_t(descriptors.max()! + 2)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      // None below the limit is free: fill the holes, also those that a thread of the runtime leaves a little later.
      for _ in 0..<3 {
        while dup(0) >= 0 {}
        #expect(errno == EMFILE)
        pass(server.base)
      }
      server.start()
      pass(server.base)
      #expect(loopTime(of: server.base, over: 0.5) < 0.05)
      #expect(server.pairs.value.isEmpty)
      limit.rlim_cur = usual
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      #expect(eventually(within: 5) { server.pairs.value.count == 5 })
      let pair = server.pairs.value[0]
      pair.open()
      #expect(try pair.output.write([1]) == 1)
      #expect(clients.contains { $0?.receive(1, seconds: 1) == [1] })
    }
  }

  // Report 59
  @Test("stopping a listener while a burst is being accepted leaves nobody without an answer")
  func stopInBurst() throws {
    for _ in 0..<30 {
      let server = try Server(Self.anyPort)
      let clients = (0..<16).compactMap { _ in server.connect() }
      server.start()
      server.listener.close()
      server.pairs.with { $0 = [] }
      server.base.stop()
      server.base.join()
      server.pairs.with { $0 = [] }
      for client in clients { #expect([0, ECONNRESET].contains(client.receiveEnd(seconds: 5))) }
      #expect(server.connect() == nil)
    }
  }
}
