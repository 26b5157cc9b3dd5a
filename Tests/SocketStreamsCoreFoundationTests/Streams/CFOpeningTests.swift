// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Making and opening CoreFoundation's socket streams.

import CoreFoundation
import Glibc
import SocketStreamsCoreFoundation
import Testing

@Suite struct CFCreationTests {
  // S1, S24
  @Test func makingAPairTouchesNoNetwork() throws {
    let listener = try RawListener()
    let pair = CFPair(port: listener.port)
    #expect(CFReadStreamGetStatus(pair.read) == .notOpen)
    #expect(CFWriteStreamGetStatus(pair.write) == .notOpen)
    #expect(CFReadStreamCopyError(pair.read) == nil)
    #expect(CFReadStreamCopyProperty(pair.read, kCFStreamPropertySocketNativeHandle) == nil)
    #expect(listener.accept(seconds: 0) == nil)
  }

  // S2, S12, S13
  @Test(arguments: [("", 80), ("127.0.0.1", 65_536), ("127.0.0.1", UInt32.max)] as [(String, UInt32)])
  func badArgumentsLeaveBothStreamsNull(host: String, port: UInt32) {
    let old = CFPair(boundWithSize: 1)
    var reading: Unmanaged<CFReadStream>? = .passUnretained(old.read)
    var writing: Unmanaged<CFWriteStream>? = .passUnretained(old.write)
    CFStreamCreatePairWithSocketToHost(nil, host.cf, port, &reading, &writing)
    #expect(reading == nil)
    #expect(writing == nil)
  }

  // S2, S12
  @Test func noHostAndNoSignatureLeaveBothStreamsNull() {
    let old = CFPair(boundWithSize: 1)
    var reading: Unmanaged<CFReadStream>? = .passUnretained(old.read)
    var writing: Unmanaged<CFWriteStream>? = .passUnretained(old.write)
    CFStreamCreatePairWithSocketToHost(nil, nil, 80, &reading, &writing)
    #expect(reading == nil && writing == nil)
    reading = .passUnretained(old.read)
    CFStreamCreatePairWithPeerSocketSignature(nil, nil, &reading, nil)
    #expect(reading == nil)
  }

  // S3
  @Test func bothDeclinedIsNoWork() async {
    await #expect(processExitsWith: .success) {
      let sockets = KernelSocketPair()
      defer { withExtendedLifetime(sockets) {} }
      let flags = fcntl(sockets.first, F_GETFL)
      let before = openSockets()
      CFStreamCreatePairWithSocketToHost(nil, "127.0.0.1".cf, 1, nil, nil)
      CFStreamCreatePairWithSocket(nil, sockets.first, nil, nil)
      CFStreamCreateBoundPair(nil, nil, nil, 1)
      precondition(openSockets() == before)
      precondition(fcntl(sockets.first, F_GETFL) == flags)
    }
  }

  // S4, S9
  @Test func eachStreamIsOwnedByTheCaller() throws {
    let listener = try RawListener()
    var reading: Unmanaged<CFReadStream>?
    CFStreamCreatePairWithSocketToHost(nil, "127.0.0.1".cf, UInt32(listener.port), &reading, nil)
    let made = try #require(reading)
    CFReadStreamOpen(made.takeUnretainedValue())
    let peer = try #require(listener.accept())
    made.release()
    #expect(peer.receiveEnd() == 0, "the only reference was the caller's")
  }

  // S3, S6
  @Test func oneHalfAloneEndsTheConnection() throws {
    let listener = try RawListener()
    var reading: Unmanaged<CFReadStream>?
    CFStreamCreatePairWithSocketToHost(nil, "127.0.0.1".cf, UInt32(listener.port), &reading, nil)
    let stream = try #require(reading?.takeRetainedValue())
    CFReadStreamOpen(stream)
    let peer = try #require(listener.accept())
    peer.send([1])
    #expect(read(stream).bytes == [1])
    CFReadStreamClose(stream)
    #expect(peer.receiveEnd() == 0)
  }

  // S3, S6
  @Test func aWriteStreamAloneEndsTheConnection() throws {
    let listener = try RawListener()
    var writing: Unmanaged<CFWriteStream>?
    CFStreamCreatePairWithSocketToHost(nil, "127.0.0.1".cf, UInt32(listener.port), nil, &writing)
    let stream = try #require(writing?.takeRetainedValue())
    CFWriteStreamOpen(stream)
    #expect(write(stream, [1, 2]) == 2)
    let peer = try #require(listener.accept())
    CFWriteStreamClose(stream)
    #expect(peer.receiveAll() == [1, 2])
  }

  // S5
  @Test func openingBothHalvesConnectsOnce() throws {
    let (pair, listener) = try CFPair.unopened()
    pair.open()
    let peer = try #require(listener.accept())
    #expect(write(pair.write, [7]) == 1)
    #expect(peer.receive(1) == [7])
    #expect(listener.accept(seconds: 0) == nil)
    let first: AnyObject? = CFReadStreamCopyProperty(pair.read, kCFStreamPropertySocketNativeHandle)
    let second: AnyObject? = CFWriteStreamCopyProperty(pair.write, kCFStreamPropertySocketNativeHandle)
    #expect(first != nil && CFEqual(first, second))
  }

  // S7
  @Test func releasingOneHalfLeavesTheOtherUsable() throws {
    let (listener, peer, reader) = try {
      let listener = try RawListener()
      let pair = CFPair(port: listener.port)
      pair.open()
      return (listener, try #require(listener.accept()), pair.read)
    }()
    peer.send([1, 2, 3])
    #expect(read(reader).bytes == [1, 2, 3])
    withExtendedLifetime(listener) {}
  }

  // S11, S52
  @Test(arguments: ["localhost", "127.0.0.1", "::1", "[::1]", "::1%lo"])
  func hostsAreNamesAndLiterals(host: String) throws {
    let listener = try RawListener(address: host.contains("1]") || host.hasPrefix("::") ? "::1" : "127.0.0.1")
    let pair = CFPair(host: host, port: listener.port)
    CFReadStreamOpen(pair.read)
    let peer = try #require(listener.accept())
    peer.send([9])
    #expect(read(pair.read).bytes == [9])
  }

  // S14, S15, S181
  @Test func aSignatureIsCopied() throws {
    let listener = try RawListener()
    var reading: Unmanaged<CFReadStream>?
    withSignature(of: listener) { signature in
      var signature = signature
      CFStreamCreatePairWithPeerSocketSignature(nil, &signature, &reading, nil)
    }
    let stream = try #require(reading?.takeRetainedValue())
    #expect(
      number(CFReadStreamCopyProperty(stream, kCFStreamPropertySocketRemotePortNumber)) == Int(listener.port))
    CFReadStreamOpen(stream)
    let peer = try #require(listener.accept())
    peer.send([4])
    #expect(read(stream).bytes == [4])
    let connected = CFReadStreamCopyProperty(stream, kCFStreamPropertySocketRemotePortNumber)
    #expect(number(connected) == Int(listener.port))
    #expect(CFReadStreamCopyProperty(stream, kCFStreamPropertySocketRemoteHostName) == nil)
  }

  // S16
  @Test func aSignatureMayBeOfAUnixSocket() throws {
    let directory = try SocketDirectory()
    let listener = try RawListener(unixPath: directory.file())
    var reading: Unmanaged<CFReadStream>?
    withSignature(of: listener) { signature in
      var signature = signature
      CFStreamCreatePairWithPeerSocketSignature(nil, &signature, &reading, nil)
    }
    let stream = try #require(reading?.takeRetainedValue())
    CFReadStreamOpen(stream)
    let peer = try #require(listener.accept())
    peer.send([5])
    #expect(read(stream).bytes == [5])
  }

  // S15, S17
  @Test func aSignatureOfAnotherTypeFailsToOpen() throws {
    let listener = try RawListener()
    var reading: Unmanaged<CFReadStream>?
    withSignature(of: listener) { signature in
      var signature = signature
      signature.socketType = Int32(SOCK_DGRAM.rawValue)
      CFStreamCreatePairWithPeerSocketSignature(nil, &signature, &reading, nil)
    }
    let stream = try #require(reading?.takeRetainedValue())
    #expect(!CFReadStreamOpen(stream))
    #expect(CFReadStreamGetStatus(stream) == .error)
    #expect(CFReadStreamGetError(stream) == CFStreamError(domain: 1, error: EPROTOTYPE))
  }

  // S2
  @Test func aSignatureWithoutAnAddressLeavesBothStreamsNull() throws {
    let tooShort = CFDataCreate(nil, [2, 0, 1], 3)!
    var signature = CFSocketSignature(
      protocolFamily: AF_INET, socketType: Int32(SOCK_STREAM.rawValue), protocol: 6,
      address: Unmanaged.passUnretained(tooShort))
    var reading: Unmanaged<CFReadStream>?
    withExtendedLifetime(tooShort) {
      CFStreamCreatePairWithPeerSocketSignature(nil, &signature, &reading, nil)
    }
    #expect(reading == nil)
  }
}

@Suite struct CFOpeningTests {
  // S42, S43, S25
  @Test func openReturnsAtOnceAndTheStatusTellsTheRest() throws {
    let hole = try BlackHole()
    let pair = CFPair(port: hole.port)
    #expect(CFReadStreamOpen(pair.read))
    #expect(CFReadStreamGetStatus(pair.read) == .opening)
    CFReadStreamClose(pair.read)
    #expect(CFReadStreamGetStatus(pair.read) == .closed)
  }

  // S44, S45, S34
  @Test func aStreamScheduledNowhereOpensWhenItIsPolled() throws {
    let (pair, listener) = try CFPair.unopened()
    CFReadStreamOpen(pair.read)
    #expect(eventually { CFReadStreamGetStatus(pair.read) == .open })
    withExtendedLifetime(listener) {}
  }

  // S44, S165, S176
  @Test func aRefusedPortIsSeenByPolling() throws {
    let refused = try RefusedPort()
    let pair = CFPair(port: refused.port)
    #expect(CFReadStreamOpen(pair.read))
    #expect(eventually { CFReadStreamGetStatus(pair.read) == .error })
    #expect(CFReadStreamGetError(pair.read) == CFStreamError(domain: 1, error: ECONNREFUSED))
  }

  // S51, S93, S173, S174
  @Test func aFailedOpenIsAnErrorAndNothingElseOnBothHalves() throws {
    let refused = try RefusedPort()
    let pair = CFPair(port: refused.port)
    let reader = CFClient(), writer = CFClient()
    let errors = Shared<[Int32]>([])
    reader.onRead = { stream, _ in errors.with { $0.append(CFReadStreamGetError(stream).error) } }
    writer.onWrite = { stream, _ in errors.with { $0.append(CFWriteStreamGetError(stream).error) } }
    reader.attach(to: pair.read)
    writer.attach(to: pair.write)
    pair.schedule()
    pair.open()
    #expect(turn { reader.has(.errorOccurred) && writer.has(.errorOccurred) })
    settle()
    #expect(reader.events == [8])
    #expect(writer.events == [8])
    #expect(errors.value == [ECONNREFUSED, ECONNREFUSED])
    #expect(reader.entries.allSatisfy { $0.status == .error })
  }

  // S40
  @Test func aHalfOpenedAfterTheFailureFailsAtOnce() throws {
    let refused = try RefusedPort()
    let pair = CFPair(port: refused.port)
    CFReadStreamOpen(pair.read)
    #expect(eventually { CFReadStreamGetStatus(pair.read) == .error })
    #expect(!CFWriteStreamOpen(pair.write))
    #expect(CFWriteStreamGetStatus(pair.write) == .error)
    #expect(CFWriteStreamGetError(pair.write).error == ECONNREFUSED)
  }

  // S38, S39, S41
  @Test func aHalfOpenedLaterJoinsTheConnection() throws {
    let (pair, listener) = try CFPair.unopened()
    let writer = CFClient()
    writer.attach(to: pair.write)
    pair.schedule()
    CFReadStreamOpen(pair.read)
    #expect(turn { CFReadStreamGetStatus(pair.read) == .open })
    settle()
    #expect(writer.events.isEmpty)
    #expect(CFWriteStreamGetStatus(pair.write) == .notOpen)
    #expect(CFWriteStreamOpen(pair.write))
    #expect(turn { writer.events == [1, 4] })
    withExtendedLifetime(listener) {}
  }

  // S31, S32, S33
  @Test func openWorksOnce() throws {
    let (pair, listener) = try CFPair.unopened()
    CFReadStreamClose(pair.read)
    #expect(CFReadStreamGetStatus(pair.read) == .notOpen)
    #expect(CFReadStreamOpen(pair.read))
    #expect(!CFReadStreamOpen(pair.read))
    CFReadStreamClose(pair.read)
    CFReadStreamClose(pair.read)
    #expect(CFReadStreamGetStatus(pair.read) == .closed)
    #expect(!CFReadStreamOpen(pair.read))
    withExtendedLifetime(listener) {}
  }

  // S46, S47: CoreFoundation alone waits for ever (D20).
  @Test func aReadWhileOpeningWaitsWithoutAClient() throws {
    let hole = try BlackHole()
    let pair = CFPair(port: hole.port)
    CFReadStreamOpen(pair.read)
    nonisolated(unsafe) let behind = hole
    let connected = onThread {
      // Two in the queue: the one that filled it, and then ours.
      _ = behind.open()
      if let peer = behind.open() { peer.send([1, 2]) }
    }
    #expect(read(pair.read).bytes == [1, 2])
    #expect(CFReadStreamGetStatus(pair.read) == .open)
    #expect(connected.wait(seconds: 10))
  }

  // S46: -1 when the opening fails.
  @Test func aWriteWhileOpeningFailsWithTheConnection() throws {
    let refused = try RefusedPort()
    let pair = CFPair(port: refused.port)
    CFWriteStreamOpen(pair.write)
    #expect(write(pair.write, [1]) == -1)
    #expect(CFWriteStreamGetError(pair.write).error == ECONNREFUSED)
  }

  // S48, S50: a client is told of the opening once, whoever finds out about it.
  @Test func aReadWhileOpeningTellsAScheduledClientOnce() throws {
    let (pair, listener) = try CFPair.unopened()
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read)
    CFReadStreamOpen(pair.read)
    let peer = try #require(listener.accept())
    peer.send([6])
    #expect(read(pair.read).bytes == [6])
    turn { client.has(.openCompleted) }
    settle()
    #expect(client.count(.openCompleted) == 1)
  }

  // S18, S179
  @Test func aNativeSocketIsOpenAtOnce() throws {
    let sockets = KernelSocketPair()
    defer { withExtendedLifetime(sockets) {} }
    let pair = CFPair(socket: sockets.first)
    #expect(CFReadStreamCopyProperty(pair.read, kCFStreamPropertySocketNativeHandle) != nil)
    #expect(CFReadStreamOpen(pair.read))
    #expect(CFReadStreamGetStatus(pair.read) == .open)
    pair.close()
  }

  // S19, S58
  @Test func aBadNativeSocketIsFoundAtOpen() {
    let pair = CFPair(socket: 9_999)
    #expect(CFReadStreamGetStatus(pair.read) == .notOpen)
    #expect(!CFReadStreamOpen(pair.read))
    #expect(CFReadStreamGetStatus(pair.read) == .error)
    #expect(CFReadStreamGetError(pair.read) == CFStreamError(domain: 1, error: EBADF))
  }

  // S19, S93: the failure of an open at once is told to who is scheduled.
  @Test func anOpenThatFailsAtOnceIsToldToo() {
    let pair = CFPair(socket: 9_999)
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read)
    CFReadStreamOpen(pair.read)
    #expect(client.events.isEmpty)
    #expect(turn { client.has(.errorOccurred) })
    settle()
    #expect(client.events == [8])
  }

  // S57, D21
  @Test func aConnectTimeoutEndsTheOpening() throws {
    let hole = try BlackHole()
    let pair = CFPair(port: hole.port)
    var seconds = 0.05
    let limit = CFNumberCreate(nil, .doubleType, &seconds)
    #expect(CFReadStreamSetProperty(pair.read, kSocketStreamsConnectTimeout, limit))
    CFReadStreamOpen(pair.read)
    #expect(eventually { CFReadStreamGetStatus(pair.read) == .error })
    #expect(CFReadStreamGetError(pair.read).error == ETIMEDOUT)
    #expect(
      !CFReadStreamSetProperty(pair.read, kSocketStreamsConnectTimeout, limit), "settable before open only")
  }

  // S54: close while opening; nothing follows.
  @Test func closingWhileOpeningIsQuiet() throws {
    let hole = try BlackHole()
    let pair = CFPair(port: hole.port)
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read)
    CFReadStreamOpen(pair.read)
    CFReadStreamClose(pair.read)
    _ = hole.open()
    settle()
    #expect(client.events.isEmpty)
  }
}
