// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Streams on sockets that exist", .timeLimit(.minutes(2)))
struct NativeSocketTests {
  // S18, S42, S179, A16, I8
  @Test(
    "a pair on a connected socket is open on return, with its descriptor known before",
    arguments: [true, false])
  func openAtOnce(lent: Bool) throws {
    let link = try RawLink()
    let fd = link.own.fd
    let pair =
      lent ? StreamPair(nativeSocket: fd) : StreamPair(adopting: NativeSocket(owning: link.own.release()))
    #expect(pair.input.property(.socketNativeHandle) == fd)
    #expect(pair.open())
    #expect(pair.input.status == .open && pair.output.status == .open)
    #expect(try pair.output.write([1, 2]) == 2)
    #expect(link.peer.receive(2) == [1, 2])
    link.peer.send([3])
    #expect(try read(1, from: pair.input) == [3])
    pair.close()
  }

  // S17, S19
  @Test("a descriptor that is no connected stream socket is found out by open, with the reason")
  func unusable() throws {
    let listener = try RawListener()
    let datagram = RawSocket(owning: socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0))
    let unconnected = RawSocket(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let pipes = ends.map { RawSocket(owning: $0) }
    let cases: [(Int32, Int32)] = [
      (-1, EBADF), (1_000_000, EBADF), (pipes[0].fd, ENOTSOCK), (datagram.fd, EPROTOTYPE),
      (unconnected.fd, ENOTCONN), (listener.fd, ENOTCONN),
    ]
    for (fd, code) in cases {
      let pair = StreamPair(nativeSocket: fd)
      #expect(pair.input.status == .notOpen, "creation does not look")
      #expect(!pair.input.open())
      #expect(!pair.output.open())
      for stream in [pair.input, pair.output] as [SocketStream] {
        #expect(stream.status == .error)
        #expect(stream.error == .posix(code, stream.error?.operation ?? ""), "\(fd)")
      }
      pair.close()
    }
    for socket in [datagram, unconnected] + pipes { #expect(SocketIdentity(socket.fd) != nil) }
  }

  // S19, S93
  @Test("a failed open of a native socket is told as one error, after open has returned")
  func unusableScheduled() throws {
    let base = try EventBase.startThread()
    let pair = StreamPair(nativeSocket: -1)
    let log = PairLog()
    log.watch(pair, on: base)
    base.sync {
      _ = pair.open()
      #expect(log.all.isEmpty)
    }
    #expect(log.hears(.errorOccurred, .input) && log.hears(.errorOccurred, .output))
    pass(base)
    #expect(log.events(.input) == [.errorOccurred] && log.events(.output) == [.errorOccurred])
  }

  // S21
  @Test("a second pair on a descriptor in use fails with EBUSY and harms nothing")
  func busy() throws {
    let link = try RawLink()
    let first = StreamPair(nativeSocket: link.own.fd)
    #expect(first.open())
    for _ in 0..<2 {
      let second = StreamPair(nativeSocket: link.own.fd)
      #expect(!second.input.open())
      #expect(second.input.error?.code == EBUSY && second.input.error?.domain == .posix)
      second.close()
    }
    #expect(try first.output.write([1]) == 1)
    #expect(link.peer.receive(1) == [1])
    first.close()
    let third = StreamPair(nativeSocket: link.own.fd)
    #expect(
      eventually(within: 5) {
        third.input.status == .open || third.input.open() || third.input.status == .error
      })
    #expect(third.input.status == .open)
    third.close()
  }

  // S20, S154, S158, A17
  @Test(
    "a lent socket comes back open, in its earlier blocking mode, and not shut down",
    arguments: [true, false])
  func givenBack(blocking: Bool) throws {
    let link = try RawLink()
    let fd = link.own.fd
    if !blocking { _ = fcntl(fd, F_SETFL, O_NONBLOCK) }
    let base = try EventBase.startThread()
    let pair = StreamPair(nativeSocket: fd)
    let log = PairLog()
    log.watch(pair, on: base)
    #expect(pair.open())
    #expect(!isBlocking(fd))
    #expect(try pair.output.write([1]) == 1)
    pair.output.close()
    link.peer.send([2])
    #expect(eventually(within: 5) { log.bytes == [2] }, "one half closed, the other goes on")
    pair.input.close()
    pass(base)
    #expect(eventually(within: 5) { isBlocking(fd) == blocking })
    // The owner goes on with it: nothing was shut down, and nobody takes its bytes.
    #expect(link.own.send([3]) == 0)
    #expect(link.peer.receive(2) == [1, 3])
    link.peer.send([4])
    #expect(link.own.receive(1) == [4])
    #expect(log.bytes == [2])
    withExtendedLifetime(pair) {}
  }

  // S158, S149
  @Test("a lent socket's write stream takes only what the kernel takes")
  func nothingInFlight() throws {
    let link = try RawLink()
    let pair = StreamPair(nativeSocket: link.own.fd)
    pair.open()
    let taken = try fill(pair.output)
    #expect(pair.output.property(.queuedByteCount) == 0)
    pair.close()
    link.own.close()
    #expect(link.peer.receiveAll()?.count == taken)
  }

  // S159, S182, A17
  @Test("the property decides who closes the socket, set on either half until the last close")
  func decision() throws {
    for (closesWhenDone, settings, isClosed) in [
      (false, [], false), (true, [], true), (false, [true], true), (true, [false], false),
      (false, [true, nil], false), (true, [false, nil], true), (true, [false, true], true),
    ] as [(Bool, [Bool?], Bool)] {
      for onInput in [true, false] {
        let link = try RawLink()
        let fd = link.own.release()
        let socket = try #require(SocketIdentity(fd))
        let pair = StreamPair(nativeSocket: fd, closesWhenDone: closesWhenDone)
        let stream: SocketStream = onInput ? pair.input : pair.output
        #expect(stream.property(.shouldCloseNativeSocket) == closesWhenDone)
        pair.open()
        if onInput { pair.output.close() } else { pair.input.close() }
        for value in settings { #expect(stream.setProperty(.shouldCloseNativeSocket, to: value)) }
        #expect(pair.input.property(.shouldCloseNativeSocket) == isClosed)
        pair.close()
        if isClosed {
          #expect(eventually(within: 5) { !socket.isOpen })
        } else {
          #expect(SocketIdentity(fd) == socket)
          close(fd)
        }
      }
    }
  }

  // S157, S160
  @Test("the descriptor of a pair to an address outlives it if the pair is told so")
  func outlives() throws {
    let link = try TCPLink()
    let fd = try #require(link.pair.input.property(.socketNativeHandle))
    let socket = try #require(SocketIdentity(fd))
    #expect(link.pair.output.property(.shouldCloseNativeSocket) == true)
    #expect(link.pair.input.setProperty(.shouldCloseNativeSocket, to: false))
    let bytes = pattern(1_000_000)
    try link.pair.output.write(moving: StreamBuffer(bytes))
    link.pair.close()
    // What was accepted goes out first, and no end follows.
    #expect(link.peer.receive(bytes.count) == bytes)
    #expect(SocketIdentity(fd) == socket)
    let own = RawSocket(owning: fd)
    _ = fcntl(fd, F_SETFL, 0)
    #expect(own.send([1]) == 0)
    #expect(link.peer.receive(1) == [1])
  }

  // S10, S33, S156
  @Test(
    "a pair that was never opened closes what it owns when it is dropped, and not before",
    arguments: [true, false])
  func neverOpened(owned: Bool) throws {
    let link = try RawLink()
    let fd = link.own.release()
    let socket = try #require(SocketIdentity(fd))
    do {
      let pair = StreamPair(nativeSocket: fd, closesWhenDone: owned)
      pair.close()
      #expect(pair.input.status == .notOpen && socket.isOpen)
    }
    if owned {
      #expect(eventually(within: 5) { !socket.isOpen })
    } else {
      #expect(SocketIdentity(fd) == socket)
      close(fd)
    }
  }

  // S6, S156
  @Test("of a native socket with one half only, that half's end closes it", arguments: [true, false])
  func oneHalf(reading: Bool) throws {
    let link = try RawLink()
    let socket = try #require(SocketIdentity(link.own.fd))
    let fd = link.own.release()
    do {
      let stream: SocketStream =
        reading
        ? StreamPair(nativeSocket: fd, closesWhenDone: true).input
        : StreamPair(nativeSocket: fd, closesWhenDone: true).output
      #expect(stream.open())
      #expect(socket.isOpen)
    }
    #expect(link.peer.receiveEnd(seconds: 5) == 0)
    #expect(eventually(within: 5) { !socket.isOpen })
  }

  // S136
  @Test("a pair whose read half is not opened leaves what arrives in the kernel", arguments: [true, false])
  func unreadInput(declined: Bool) throws {
    let link = try RawLink()
    let base = try EventBase.startThread()
    let pair = declined ? nil : StreamPair(nativeSocket: link.own.fd)
    let output = pair?.output ?? StreamPair(nativeSocket: link.own.fd).output
    let log = PairLog()
    log.watch(output, on: base)
    if let pair { log.watch(pair.input, on: base) }
    #expect(output.open())
    link.peer.send([1, 2, 3])
    #expect(log.hears(.canAcceptBytes, .output))
    #expect(eventually(within: 5) { waitingBytes(link.own.fd) == 3 })
    pass(base)
    #expect(waitingBytes(link.own.fd) == 3)
    #expect(!log.all.contains(.hasBytesAvailable))
    output.close()
    // Closed from another thread, it gives the socket back on the base's own: the test may not close it before.
    pass(base)
  }
}
