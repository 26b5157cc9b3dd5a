// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import Testing

@testable import SocketStreams

@Suite("System calls")
struct SystemCallsTests {
  @Test("receive, peek and send tell bytes from nothing yet, the end and failures")
  func moving() throws {
    let pair = try SystemCalls.socketPair()
    let (near, far) = (pair.first.rawValue, pair.second.rawValue)
    #expect(receive(near, 4).outcome == .wouldBlock)
    #expect(SystemCalls.peek(near) == .wouldBlock)

    #expect(send(far, [1, 2, 3]) == .bytes(3))
    #expect(SystemCalls.peek(near) == .bytes(1))
    #expect(receive(near, 2) == (.bytes(2), [1, 2]))
    #expect(receive(near, 2) == (.bytes(1), [3, 0]))
    #expect(receive(near, 0).outcome == .bytes(0))

    #expect(send(far, [4]) == .bytes(1))
    #expect(SystemCalls.shutdownWriting(far) == 0)
    #expect(receive(near, 2).outcome == .bytes(1))
    #expect(receive(near, 2).outcome == .end)
    #expect(SystemCalls.peek(near) == .end)
    #expect(receive(-1, 2).outcome == .failed(EBADF))
    #expect(send(-1, [1]) == .failed(EBADF))
    #expect(SystemCalls.peek(-1) == .failed(EBADF))
  }

  // Report 1
  @Test("sending to a peer that is gone fails with EPIPE and raises no signal")
  func brokenPipe() async {
    await #expect(processExitsWith: .success) {
      signal(SIGPIPE, SIG_DFL)
      let pair = try SystemCalls.socketPair()
      let (near, far) = pair.release()
      SystemCalls.close(far)
      let bytes: [UInt8] = [1, 2, 3]
      let outcome = SystemCalls.send(near, bytes.span.bytes)
      exit(outcome == .failed(EPIPE) ? EXIT_SUCCESS : EXIT_FAILURE)
    }
  }

  @Test("a full peer takes a part, then nothing, and the unsent bytes are counted until it reads")
  func fullPeer() throws {
    let listener = try RawListener()
    let client = try #require(RawSocket(connectingTo: listener))
    let server = try #require(listener.accept())
    #expect(SystemCalls.setNonBlocking(client.fd, true) == 0)
    var sent = 0
    let chunk = [UInt8](repeating: 1, count: 65_536)
    while case .bytes(let count) = send(client.fd, chunk) { sent += count }
    #expect(send(client.fd, chunk) == .wouldBlock)
    #expect(try #require(SystemCalls.unsentCount(client.fd)) > 0)
    client.shutdownWrite()
    #expect(server.receiveAll()?.count == sent)
  }

  @Test("nothing unsent is 0, and a descriptor that is not open has no count")
  func unsentCount() throws {
    let pair = try SystemCalls.socketPair()
    let (near, far) = (pair.first.rawValue, pair.second.rawValue)
    #expect(SystemCalls.unsentCount(near) == 0)
    #expect(send(near, [1]) == .bytes(1))
    #expect(try #require(SystemCalls.unsentCount(near)) > 0)
    #expect(receive(far, 1).outcome == .bytes(1))
    #expect(SystemCalls.unsentCount(near) == 0)
    #expect(SystemCalls.unsentCount(-1) == nil)
  }

  @Test("discarding stops at its limit, when nothing has arrived, and at the end")
  func discarding() throws {
    let pair = try SystemCalls.socketPair()
    let (near, far) = (pair.first.rawValue, pair.second.rawValue)
    #expect(SystemCalls.discardInput(near, limit: 10) == (0, .wouldBlock))
    #expect(send(far, [UInt8](repeating: 0, count: 50_000)) == .bytes(50_000))
    #expect(SystemCalls.discardInput(near, limit: 20_000) == (20_000, .bytes(20_000)))
    #expect(SystemCalls.discardInput(near, limit: 100_000) == (30_000, .wouldBlock))
    SystemCalls.shutdownWriting(far)
    #expect(SystemCalls.discardInput(near, limit: 1) == (0, .end))
  }

  // I7
  @Test("every descriptor is made close-on-exec and non-blocking")
  func newDescriptors() throws {
    let listener = try SystemCalls.makeListener(
      on: #require(SocketAddress(ip: "127.0.0.1", port: 0)), backlog: 8)
    let address = try SystemCalls.localAddress(listener.rawValue)
    let client = try SystemCalls.makeSocket(family: .ipv4)
    #expect([0, EINPROGRESS].contains(SystemCalls.connect(client.rawValue, address)))
    #expect(SystemCalls.wait(listener.rawValue, for: .readable, timeout: .seconds(10)) == .ready(.readable))
    guard case .connection(let server, let peer) = SystemCalls.accept(listener.rawValue) else {
      Issue.record("no connection")
      return
    }
    #expect(try peer == SystemCalls.localAddress(client.rawValue))
    #expect(try SystemCalls.peerAddress(client.rawValue) == address)
    let pair = try SystemCalls.socketPair()
    let wake = try SystemCalls.makeEventDescriptor()
    let all = [
      listener.rawValue, client.rawValue, server.rawValue, pair.first.rawValue, pair.second.rawValue,
      wake.rawValue,
    ]
    for fd in all {
      #expect(fcntl(fd, F_GETFD) & FD_CLOEXEC == FD_CLOEXEC)
      #expect(SystemCalls.isNonBlocking(fd) == true)
    }
  }

  @Test("accepting when nobody waits, or on what does not listen, says so")
  func acceptingNothing() throws {
    let listener = try SystemCalls.makeListener(on: #require(SocketAddress(ip: "::1", port: 0)), backlog: 8)
    if case .wouldBlock = SystemCalls.accept(listener.rawValue) {
    } else {
      Issue.record("expected wouldBlock")
    }
    let socket = try SystemCalls.makeSocket(family: .ipv4)
    if case .failed(EINVAL) = SystemCalls.accept(socket.rawValue) {} else { Issue.record("expected EINVAL") }
  }

  @Test("an IPv6 listener leaves the port to IPv4, and a taken address is an error")
  func listening() throws {
    func listener(_ ip: String, _ port: UInt16) throws -> RawSocket {
      let address = try #require(SocketAddress(ip: ip, port: port))
      return RawSocket(owning: try SystemCalls.makeListener(on: address, backlog: 1).release())
    }
    let (six, four) = try onOnePort {
      let six = try listener("::", 0)
      return (six, try listener("127.0.0.1", #require(SystemCalls.localAddress(six.fd).port)))
    }
    let port = try #require(SystemCalls.localAddress(six.fd).port)
    #expect(try SystemCalls.localAddress(four.fd).port == port)
    #expect(SystemCalls.option(four.fd, level: SOL_SOCKET, name: SO_REUSEADDR) == 1)
    #expect(throws: StreamError.posix(EADDRINUSE, "bind")) { _ = try listener("127.0.0.1", port) }
  }

  // Report 67
  @Test("a socket on a path of 107 bytes listens, and both ends read its name back", arguments: [107, 60])
  func unixNames(length: Int) throws {
    let directory = try SocketDirectory()
    let path = directory.file("ü", length: length)
    let address = try SocketAddress(unixPath: path)
    let listener = try SystemCalls.makeListener(on: address, backlog: 1)
    #expect(try SystemCalls.localAddress(listener.rawValue).unixPath == path)
    let client = try SystemCalls.makeSocket(family: .unix)
    #expect(SystemCalls.connect(client.rawValue, address) == 0)
    #expect(try SystemCalls.peerAddress(client.rawValue).unixPath == path)
    #expect(try SystemCalls.localAddress(client.rawValue).description == "unix:")
  }

  // S17
  @Test("the kind of a socket is known, and what is no socket has none")
  func kinds() throws {
    let stream = try SystemCalls.makeSocket(family: .unix)
    #expect(SystemCalls.isStreamSocket(stream.rawValue))
    let datagram = NativeSocket(owning: socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0))
    #expect(SystemCalls.socketType(datagram.rawValue) == Int32(SOCK_DGRAM.rawValue))
    #expect(!SystemCalls.isStreamSocket(datagram.rawValue))
    let file = NativeSocket(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
    #expect(SystemCalls.socketType(file.rawValue) == nil)
    #expect(SystemCalls.isValid(file.rawValue) && !SystemCalls.isValid(-1))
    #expect(throws: StreamError.posix(ENOTSOCK, "getsockname")) {
      try SystemCalls.localAddress(file.rawValue)
    }
    #expect(throws: StreamError.posix(ENOTCONN, "getpeername")) {
      try SystemCalls.peerAddress(stream.rawValue)
    }
  }

  // I2, I3
  @Test("options are set and asked by level and name, and failures are told")
  func options() throws {
    let socket = try SystemCalls.makeSocket(family: .ipv4)
    let fd = socket.rawValue
    #expect(SystemCalls.option(fd, level: SystemCalls.Flag.tcp, name: TCP_NODELAY) == 0)
    #expect(SystemCalls.setOption(fd, level: SystemCalls.Flag.tcp, name: TCP_NODELAY, value: 1) == 0)
    #expect(SystemCalls.option(fd, level: SystemCalls.Flag.tcp, name: TCP_NODELAY) == 1)
    #expect(SystemCalls.setOption(-1, level: SOL_SOCKET, name: SO_SNDBUF, value: 1) == EBADF)
    let local = try SystemCalls.makeSocket(family: .unix)
    #expect(
      SystemCalls.setOption(local.rawValue, level: SystemCalls.Flag.tcp, name: TCP_NODELAY, value: 1)
        == EOPNOTSUPP)
    #expect(SystemCalls.option(-1, level: SOL_SOCKET, name: SO_SNDBUF) == nil)
    #expect(SystemCalls.socketError(-1) == EBADF)
  }

  @Test("blocking is asked and chosen; a descriptor that is not open has no answer")
  func blocking() throws {
    let socket = try SystemCalls.makeSocket(family: .ipv4)
    #expect(SystemCalls.setNonBlocking(socket.rawValue, false) == 0)
    #expect(SystemCalls.isNonBlocking(socket.rawValue) == false)
    #expect(SystemCalls.setNonBlocking(socket.rawValue, true) == 0)
    #expect(SystemCalls.isNonBlocking(socket.rawValue) == true)
    #expect(SystemCalls.isNonBlocking(-1) == nil)
    #expect(SystemCalls.setNonBlocking(-1, true) == EBADF)
  }

  @Test("a wait ends by readiness, by being woken, or by its time, and readiness comes before being woken")
  func waiting() throws {
    let pair = try SystemCalls.socketPair()
    let (near, far) = (pair.first.rawValue, pair.second.rawValue)
    let wake = try SystemCalls.makeEventDescriptor()
    func wait(_ readiness: SystemCalls.Readiness, _ timeout: Duration?) -> SystemCalls.WaitOutcome {
      SystemCalls.wait(near, for: readiness, wakeDescriptor: wake.rawValue, timeout: timeout)
    }
    #expect(wait(.readable, .zero) == .timedOut)
    #expect(wait(.readable, .seconds(-5)) == .timedOut)
    let start = ContinuousClock.now
    #expect(wait(.readable, .milliseconds(30)) == .timedOut)
    #expect(ContinuousClock.now - start >= .milliseconds(30))
    #expect(wait(.writable, nil) == .ready(.writable))

    SystemCalls.signal(wake.rawValue)
    SystemCalls.signal(wake.rawValue)
    #expect(wait(.readable, nil) == .woken)
    #expect(wait(.readable, nil) == .woken)
    #expect(send(far, [1]) == .bytes(1))
    #expect(wait(.readable, nil) == .ready(.readable))
    SystemCalls.clear(wake.rawValue)
    #expect(receive(near, 9).outcome == .bytes(1))
    #expect(wait(.readable, .zero) == .timedOut)

    SystemCalls.shutdownWriting(far)
    #expect(wait([.readable, .readClosed], nil) == .ready([.readable, .readClosed]))
    #expect(SystemCalls.wait(9999, for: .readable) == .ready(.invalid))
  }

  @Test("an abortive close resets the connection, an orderly one ends it")
  func closing() throws {
    let listener = try RawListener()
    for (close, expected) in [(SystemCalls.abortClose, ECONNRESET), (SystemCalls.close, 0)]
      as [((Int32) -> Void, Int32)]
    {
      let client = try #require(RawSocket(connectingTo: listener))
      let server = try #require(listener.accept())
      close(client.release())
      #expect(server.receiveEnd() == expected)
    }
  }

  @Test("a socket closes with its owner, and not once it was given away")
  func ownership() async {
    await #expect(processExitsWith: .success) {
      let before = openSockets()
      let kept = try SystemCalls.makeSocket(family: .unix).release()
      do { _ = try SystemCalls.socketPair() }
      let left = openSockets().subtracting(before)
      exit(left.count == 1 && left.first?.hasPrefix("\(kept) ") == true ? EXIT_SUCCESS : EXIT_FAILURE)
    }
  }

  // MARK: - Helpers

  private func receive(_ fd: Int32, _ count: Int) -> (outcome: IOResult, bytes: [UInt8]) {
    var bytes = [UInt8](repeating: 0, count: count)
    var span = bytes.mutableSpan
    var raw = span.mutableBytes
    let outcome = SystemCalls.receive(fd, into: &raw)
    return (outcome, bytes)
  }

  private func send(_ fd: Int32, _ bytes: [UInt8]) -> IOResult { SystemCalls.send(fd, bytes.span.bytes) }
}
