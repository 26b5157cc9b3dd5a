// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Properties and options of sockets", .timeLimit(.minutes(2)))
struct OptionTests {
  private static let tcp = Int32(IPPROTO_TCP)

  // I1, S178
  @Test("small writes leave at once by default, and the property shows and changes it")
  func noDelay() throws {
    let link = try TCPLink()
    let (input, output) = (link.pair.input, link.pair.output)
    #expect(output.property(.noDelay) == true)
    #expect(try input.socketOption(level: Self.tcp, name: TCP_NODELAY) != 0)
    #expect(input.setProperty(.noDelay, to: false))
    #expect(try output.socketOption(level: Self.tcp, name: TCP_NODELAY) == 0)
    #expect(output.property(.noDelay) == false)
    #expect(output.setProperty(.noDelay, to: nil))
    #expect(output.property(.noDelay) == true)

    let listener = try RawListener()
    let early = StreamPair(address: listener.address)
    #expect(early.input.setProperty(.noDelay, to: false))
    early.open()
    #expect(early.output.waitUntilReady(timeout: .seconds(5)))
    #expect(try early.input.socketOption(level: Self.tcp, name: TCP_NODELAY) == 0)
  }

  // I2, S178
  @Test("buffer sizes asked for before or after the connection are the socket's", arguments: [true, false])
  func buffers(before: Bool) throws {
    let listener = try RawListener()
    let pair = StreamPair(address: listener.address)
    func set() {
      #expect(pair.input.setProperty(.sendBufferSize, to: 30_000))
      #expect(pair.output.setProperty(.receiveBufferSize, to: 20_000))
    }
    if before {
      set()
      #expect(pair.input.property(.sendBufferSize) == 30_000)
    }
    pair.open()
    #expect(pair.output.waitUntilReady(timeout: .seconds(5)))
    if !before { set() }
    // Linux doubles what it is asked for.
    #expect(pair.input.property(.sendBufferSize) == 60_000)
    #expect(pair.input.property(.receiveBufferSize) == 40_000)
    #expect(try pair.input.socketOption(level: SOL_SOCKET, name: SO_SNDBUF) == 60_000)
    #expect(!pair.input.setProperty(.sendBufferSize, to: 0))
    #expect(!pair.input.setProperty(.receiveBufferSize, to: -1))
    #expect(pair.input.status == .open)
  }

  // H3
  @Test(
    "probes of an idle connection are set with their times, before and after connecting",
    arguments: [true, false])
  func keepAlive(before: Bool) throws {
    let listener = try RawListener()
    let pair = StreamPair(address: listener.address)
    let probes = ConnectionOptions.KeepAlive(idle: .seconds(11), interval: .seconds(7), count: 4)
    if before { #expect(pair.input.setProperty(.keepAlive, to: probes)) }
    pair.open()
    #expect(pair.output.waitUntilReady(timeout: .seconds(5)))
    if !before {
      #expect(try pair.input.socketOption(level: SOL_SOCKET, name: SO_KEEPALIVE) == 0)
      #expect(pair.input.setProperty(.keepAlive, to: probes))
    }
    #expect(pair.output.property(.keepAlive) == probes)
    #expect(try pair.input.socketOption(level: SOL_SOCKET, name: SO_KEEPALIVE) == 1)
    #expect(try pair.input.socketOption(level: Self.tcp, name: TCP_KEEPIDLE) == 11)
    #expect(try pair.input.socketOption(level: Self.tcp, name: TCP_KEEPINTVL) == 7)
    #expect(try pair.input.socketOption(level: Self.tcp, name: TCP_KEEPCNT) == 4)
    #expect(pair.input.setProperty(.keepAlive, to: nil))
    #expect(try pair.input.socketOption(level: SOL_SOCKET, name: SO_KEEPALIVE) == 0)
  }

  // I3
  @Test("any integer option is read and set by number; a wrong one throws and breaks nothing")
  func anyOption() throws {
    let link = try TCPLink()
    let pair = link.pair
    try pair.input.setSocketOption(level: Self.tcp, name: TCP_USER_TIMEOUT, to: 12_345)
    #expect(try pair.output.socketOption(level: Self.tcp, name: TCP_USER_TIMEOUT) == 12_345)
    #expect(throws: StreamError.posix(ENOPROTOOPT, "getsockopt")) {
      try pair.input.socketOption(level: Self.tcp, name: 9_999)
    }
    #expect(throws: StreamError.posix(ENOPROTOOPT, "setsockopt")) {
      try pair.input.setSocketOption(level: Self.tcp, name: 9_999, to: 1)
    }
    #expect(pair.input.status == .open)
    for other in [StreamPair(host: "h", port: 1), .bound()] {
      let error = #expect(throws: StreamError.self) {
        try other.input.socketOption(level: SOL_SOCKET, name: SO_RCVBUF)
      }
      #expect(error?.code == StreamError.Misuse.unsupported.rawValue)
    }
  }

  // S177, S178
  @Test("a property that cannot be applied is refused and harms nothing")
  func refused() throws {
    let directory = try SocketDirectory()
    let listener = try RawListener(unixPath: directory.file())
    let pair = try StreamPair(unixPath: directory.file())
    pair.open()
    let peer = try #require(listener.accept())
    #expect(pair.output.waitUntilReady(timeout: .seconds(5)))
    #expect(!pair.input.setProperty(.noDelay, to: true))
    #expect(!pair.input.setProperty(.keepAlive, to: ConnectionOptions.KeepAlive()))
    #expect(!pair.input.setProperty(.connectTimeout, to: .seconds(1)))
    #expect(!pair.input.setProperty(.remoteAddress, to: nil))
    #expect(!pair.input.setProperty(.localAddress, to: nil))
    #expect(!pair.input.setProperty(.connectAttempts, to: []))
    #expect(!pair.input.setProperty(.queuedByteCount, to: 1))
    #expect(!pair.input.setProperty(.bytesRead, to: 1))
    #expect(!pair.input.setProperty(.lingerTimeout, to: .zero))
    #expect(pair.input.status == .open && pair.input.error == nil)
    #expect(try pair.output.write([1]) == 1)
    #expect(peer.receive(1) == [1])

    let memory = StreamPair.bound()
    #expect(!memory.input.setProperty(.noDelay, to: true))
    #expect(!memory.input.setProperty(.sendBufferSize, to: 10_000))
    #expect(memory.input.property(.socketNativeHandle) == nil)
    #expect(memory.input.property(.remoteHostName) == nil)
    #expect(memory.input.property(.remoteAddress) == nil)
  }

  // S178
  @Test("properties can be read after close")
  func afterClose() throws {
    let link = try TCPLink()
    #expect(try link.pair.output.write([1]) == 1)
    link.pair.close()
    #expect(link.pair.output.property(.bytesWritten) == 1)
    #expect(link.pair.output.property(.outputLimit) == 65_536)
    #expect(link.pair.output.property(.shouldCloseNativeSocket) == true)
    #expect(link.peer.receive(1) == [1])
    #expect(link.peer.receiveEnd() == 0)
    #expect(eventually(within: 5) { link.pair.output.property(.socketNativeHandle) == nil })
  }

  // I7, I8
  @Test("every descriptor of the library's own is closed by exec and does not block")
  func closeOnExec() async {
    await #expect(processExitsWith: .success) {
      let before = processDescriptors()
      let base = try EventBase.startThread()
      let other = try EventBase()
      let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
      let accepted = Shared<[StreamPair]>([])
      listener.schedule(on: base) { pair, _ in accepted.with { $0.append(pair) } }
      let pair = StreamPair(address: listener.localAddress)
      pair.open()
      let joined = try StreamPair.connected()
      let waiting = onThread { _ = pair.input.waitUntilReady(timeout: .milliseconds(500)) }
      #expect(eventually(within: 5) { accepted.value.count == 1 && pair.input.status == .open })
      let made = processDescriptors().subtracting(before)
      // Two epolls and eventfds at least, the listener, two ends, a socket pair.
      #expect(made.count >= 9)
      for fd in made {
        #expect(closesOnExec(fd), "descriptor \(fd)")
      }
      let handles = [pair, joined.0, joined.1, accepted.value[0]].map {
        $0.input.property(.socketNativeHandle)
      }
      for fd in handles {
        #expect(fd.map(made.contains) == true)
        #expect(fd.map { !isBlocking($0) } == true)
      }
      #expect(waiting.wait(seconds: 5))
      withExtendedLifetime(other) {}
    }
  }

  // A14
  @Test("a connection comes from the local address that was asked for")
  func localAddress() throws {
    var options = ConnectionOptions()
    options.localAddress = SocketAddress(ip: "127.0.0.3", port: 0)
    let link = try TCPLink(options)
    #expect(link.peer.peerName?.hasPrefix("127.0.0.3:") == true)
    #expect(link.pair.input.property(.localAddress)?.ip == "127.0.0.3")
  }
}
