// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Closing, half closing, who owns the descriptor, errors, properties.

import CoreFoundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct CFClosingTests {
  // S29, S30
  @Test func closeEndsAnyStatusButAnError() throws {
    let (pair, peer) = try CFPair.connected()
    peer.shutdownWrite()
    #expect(read(pair.read).count == 0)
    #expect(CFReadStreamGetStatus(pair.read) == .atEnd)
    CFReadStreamClose(pair.read)
    #expect(CFReadStreamGetStatus(pair.read) == .closed)
    CFReadStreamClose(pair.read)
    #expect(CFReadStreamGetStatus(pair.read) == .closed)

    let refused = try RefusedPort()
    let failed = CFPair(port: refused.port)
    CFReadStreamOpen(failed.read)
    #expect(eventually { CFReadStreamGetStatus(failed.read) == .error })
    CFReadStreamClose(failed.read)
    #expect(CFReadStreamGetStatus(failed.read) == .error)
  }

  // S37, S151, S155
  @Test func closingOneHalfLeavesTheOtherWorking() throws {
    let (one, first) = try CFPair.connected()
    CFReadStreamClose(one.read)
    #expect(write(one.write, [1]) == 1)
    #expect(first.receive(1) == [1])
    #expect(CFWriteStreamGetStatus(one.write) == .open)

    let (other, second) = try CFPair.connected()
    CFWriteStreamClose(other.write)
    second.send([2])
    #expect(read(other.read).bytes == [2])
    #expect(CFReadStreamGetStatus(other.read) == .open)
  }

  // S153: as on Apple's platforms, the peer sees the end with the second close.
  @Test func closingTheWriteStreamTellsThePeerNothing() throws {
    let (pair, peer) = try CFPair.connected()
    #expect(write(pair.write, [1]) == 1)
    CFWriteStreamClose(pair.write)
    #expect(peer.receive(1) == [1])
    // What the end would overtake is sent by the peer, and answered by it.
    peer.send([2])
    #expect(read(pair.read).bytes == [2])
    var byte: UInt8 = 0
    #expect(recv(peer.fd, &byte, 1, Int32(MSG_DONTWAIT)) == -1 && errno == EAGAIN)
    CFReadStreamClose(pair.read)
    #expect(peer.receiveEnd() == 0)
  }

  // S152, S153
  @Test(arguments: [false, true])
  func withTheHalfClosePropertyItTellsTheEnd(isSetOnTheReadStream: Bool) throws {
    let (pair, peer) = try CFPair.connected()
    if isSetOnTheReadStream {
      #expect(CFReadStreamSetProperty(pair.read, kSocketStreamsHalfClose, kCFBooleanTrue))
    } else {
      #expect(CFWriteStreamSetProperty(pair.write, kSocketStreamsHalfClose, kCFBooleanTrue))
    }
    #expect(truth(CFReadStreamCopyProperty(pair.read, kSocketStreamsHalfClose)) == true)
    #expect(write(pair.write, [1]) == 1)
    CFWriteStreamClose(pair.write)
    #expect(peer.receiveAll() == [1])
    peer.send([2])
    #expect(read(pair.read).bytes == [2])
  }

  // S8, S156: in either order.
  @Test(arguments: [false, true])
  func theSecondCloseEndsTheConnection(readFirst: Bool) throws {
    let (pair, peer) = try CFPair.connected()
    if readFirst {
      CFReadStreamClose(pair.read)
      CFWriteStreamClose(pair.write)
    } else {
      CFWriteStreamClose(pair.write)
      CFReadStreamClose(pair.read)
    }
    #expect(peer.receiveEnd() == 0)
  }

  // S7, S8, S156: dropped instead of closed, one of them never opened.
  @Test(arguments: ["rw", "r", "w"])
  func droppingBothEndsTheConnection(opened: String) throws {
    let listener = try RawListener()
    let peer: RawSocket? = {
      let pair = CFPair(port: listener.port)
      if opened.contains("r") { CFReadStreamOpen(pair.read) }
      if opened.contains("w") { CFWriteStreamOpen(pair.write) }
      return listener.accept()
    }()
    #expect(try #require(peer).receiveEnd() == 0)
  }

  // S154, S157, S158, S20
  @Test func aNativeSocketIsGivenBack() throws {
    let sockets = KernelSocketPair()
    defer { withExtendedLifetime(sockets) {} }
    let before = fcntl(sockets.first, F_GETFL)
    do {
      let pair = CFPair(socket: sockets.first)
      pair.open()
      #expect(write(pair.write, [1]) == 1)
      pair.close()
    }
    EventBase.shared.sync {}
    #expect(fcntl(sockets.first, F_GETFL) == before)
    #expect(sockets.second.receive(1) == [1])
    #expect(send(sockets.first, [2], 1, 0) == 1)
    #expect(sockets.second.receive(1) == [2])
  }

  // S10: a descriptor that is owned is closed though the streams were never opened.
  @Test func anOwnedSocketIsClosedWithoutHavingBeenOpened() throws {
    let sockets = KernelSocketPair()
    defer { withExtendedLifetime(sockets) {} }
    let lent = dup(sockets.first)
    do {
      let pair = CFPair(socket: lent)
      #expect(CFReadStreamSetProperty(pair.read, kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanTrue))
    }
    #expect(eventually { fcntl(lent, F_GETFD) < 0 })
  }

  // S159, S182
  @Test func shouldCloseNativeSocketDecides() throws {
    let sockets = KernelSocketPair()
    defer { withExtendedLifetime(sockets) {} }
    let lent = dup(sockets.first)
    let pair = CFPair(socket: lent)
    let key = kCFStreamPropertyShouldCloseNativeSocket
    #expect(truth(CFReadStreamCopyProperty(pair.read, key)) == false)
    #expect(CFWriteStreamSetProperty(pair.write, key, kCFBooleanTrue))
    #expect(truth(CFReadStreamCopyProperty(pair.read, key)) == true)
    #expect(CFWriteStreamSetProperty(pair.write, key, nil))
    #expect(truth(CFReadStreamCopyProperty(pair.read, key)) == false)
    #expect(CFReadStreamSetProperty(pair.read, key, kCFBooleanTrue))
    pair.open()
    pair.close()
    #expect(eventually { fcntl(lent, F_GETFD) < 0 })
  }

  // S160
  @Test func theDescriptorOfAHostPairMayOutliveIt() throws {
    let (pair, peer) = try CFPair.connected()
    let value: AnyObject? = CFReadStreamCopyProperty(pair.read, kCFStreamPropertySocketNativeHandle)
    let data: CFData = Unmanaged.fromOpaque(Unmanaged.passUnretained(try #require(value)).toOpaque())
      .takeUnretainedValue()
    #expect(CFDataGetLength(data) == 4)
    let descriptor = UnsafeRawPointer(CFDataGetBytePtr(data)!).loadUnaligned(as: Int32.self)
    #expect(CFReadStreamSetProperty(pair.read, kCFStreamPropertyShouldCloseNativeSocket, kCFBooleanFalse))
    pair.close()
    EventBase.shared.sync {}
    #expect(send(descriptor, [3], 1, Int32(MSG_NOSIGNAL)) == 1)
    #expect(peer.receive(1) == [3])
    close(descriptor)
  }

  // S161, S148: with all queues full, and nobody who reads.
  @Test func aCloseDoesNotWaitForWhatIsStillToBeSent() throws {
    let (pair, peer) = try CFPair.connected()
    let block = [UInt8](repeating: 3, count: 100_000)
    var taken = 0
    while CFWriteStreamCanAcceptBytes(pair.write) { taken += write(pair.write, block) }
    nonisolated(unsafe) let closing = pair
    let closed = onThread { closing.close() }
    try #require(closed.wait(seconds: 10))
    #expect(CFWriteStreamGetStatus(pair.write) == .closed)
    #expect(peer.receiveAll()?.count == taken)
  }

  // S8, S96: from two threads at once, many times, with events on a third.
  @Test func theHalvesMayBeClosedOnDifferentThreads() throws {
    let listener = try RawListener()
    let thread = LoopThread()
    for _ in 0..<200 {
      let pair = CFPair(port: listener.port)
      let client = CFClient()
      client.attach(to: pair.read)
      client.attach(to: pair.write)
      CFReadStreamScheduleWithRunLoop(pair.read, thread.loop, kCFRunLoopDefaultMode)
      CFWriteStreamScheduleWithRunLoop(pair.write, thread.loop, kCFRunLoopDefaultMode)
      pair.open()
      let peer = try #require(listener.accept())
      nonisolated(unsafe) let writer = pair.write
      let done = onThread { CFWriteStreamClose(writer) }
      CFReadStreamClose(pair.read)
      #expect(done.wait(seconds: 10))
      #expect(peer.receiveEnd() == 0)
    }
  }
}

@Suite struct CFErrorAndPropertyTests {
  // S164, S165, S174: also after close.
  @Test func copyErrorGivesTheSameErrorEachTime() throws {
    let refused = try RefusedPort()
    let pair = CFPair(port: refused.port)
    CFReadStreamOpen(pair.read)
    #expect(eventually { CFReadStreamGetStatus(pair.read) == .error })
    let first: CFError? = CFReadStreamCopyError(pair.read)
    let second: CFError? = CFReadStreamCopyError(pair.read)
    #expect(first != nil && first === second)
    #expect(CFEqual(CFErrorGetDomain(first), kCFErrorDomainPOSIX))
    #expect(CFErrorGetCode(first) == CFIndex(ECONNREFUSED))
    #expect(text(CFErrorCopyDescription(first)).contains("Connection refused"))
    CFReadStreamClose(pair.read)
    #expect(CFReadStreamCopyError(pair.read) === first)
  }

  // S167, S176
  @Test func aFailedLookupHasTheResolversCode() throws {
    let pair = CFPair(host: "no.such.host.invalid", port: 80)
    CFReadStreamOpen(pair.read)
    #expect(eventually(within: 30) { CFReadStreamGetStatus(pair.read) == .error })
    let error = CFReadStreamGetError(pair.read)
    #expect(error.domain == CFIndex(kCFStreamErrorDomainNetDB))
    #expect(error.error < 0, "EAI_NONAME and its like are negative")
    #expect(CFEqual(CFErrorGetDomain(CFReadStreamCopyError(pair.read)), kCFErrorDomainCFNetwork))
  }

  // S178
  @Test func unknownKeysAreRefusedAndPropertiesOutliveTheClose() throws {
    let (pair, peer) = try CFPair.connected()
    #expect(!CFReadStreamSetProperty(pair.read, "SocketStreamsNoSuchKey".cf, kCFBooleanTrue))
    #expect(CFReadStreamCopyProperty(pair.read, "SocketStreamsNoSuchKey".cf) == nil)
    pair.close()
    let host: AnyObject? = CFReadStreamCopyProperty(pair.read, kCFStreamPropertySocketRemoteHostName)
    #expect(host != nil && CFEqual(host, "127.0.0.1".cf))
    withExtendedLifetime(peer) {}
  }

  // S179, S180, S181
  @Test func theSocketsPropertiesAreReadOnly() throws {
    let listener = try RawListener()
    let pair = CFPair(port: listener.port)
    #expect(
      number(CFReadStreamCopyProperty(pair.read, kCFStreamPropertySocketRemotePortNumber))
        == Int(listener.port))
    for key in [
      kCFStreamPropertySocketNativeHandle, kCFStreamPropertySocketRemoteHostName,
      kCFStreamPropertySocketRemotePortNumber,
    ] { #expect(!CFReadStreamSetProperty(pair.read, key, kCFBooleanTrue)) }
    let native = CFPair(socket: KernelSocketPair().first)
    #expect(CFReadStreamCopyProperty(native.read, kCFStreamPropertySocketRemoteHostName) == nil)
  }

  // S183, S177: without proxies, a connection cannot be made to look as if it went through one.
  @Test func proxiesThatAreNotThereAreRefused() throws {
    let (pair, peer) = try CFPair.connected()
    let empty = CFDictionaryCreate(nil, nil, nil, 0, nil, nil)
    #expect(!CFReadStreamSetProperty(pair.read, kCFStreamPropertySOCKSProxy, empty))
    #expect(CFReadStreamSetProperty(pair.read, kCFStreamPropertySOCKSProxy, nil))
    peer.send([1])
    #expect(read(pair.read).bytes == [1], "a refusal breaks nothing")
  }

  // S197
  @Test func hintsAreAccepted() throws {
    let (pair, _) = try CFPair.connected()
    #expect(CFReadStreamSetProperty(pair.read, kCFStreamNetworkServiceType, kCFStreamNetworkServiceTypeVoIP))
    #expect(
      CFReadStreamSetProperty(pair.read, kCFStreamPropertySocketExtendedBackgroundIdleMode, kCFBooleanTrue))
    #expect(!CFReadStreamSetProperty(pair.read, kCFStreamPropertyAutoErrorOnSystemChange, kCFBooleanFalse))
  }

  // S134, D14: no limit unless one is set.
  @Test func timeLimitsAreSetInSeconds() throws {
    let (pair, peer) = try CFPair.connected()
    #expect(CFReadStreamCopyProperty(pair.read, kSocketStreamsReadTimeout) == nil)
    var seconds = 0.05
    #expect(
      CFReadStreamSetProperty(
        pair.read, kSocketStreamsReadTimeout, CFNumberCreate(nil, .doubleType, &seconds)))
    #expect(read(pair.read).count == -1)
    #expect(CFReadStreamGetError(pair.read).error == ETIMEDOUT)
    for bad in [-1, 0, Double.infinity, .nan] {
      var bad = bad
      #expect(
        !CFWriteStreamSetProperty(
          pair.write, kSocketStreamsWriteTimeout, CFNumberCreate(nil, .doubleType, &bad)))
    }
    #expect(!CFWriteStreamSetProperty(pair.write, kSocketStreamsWriteTimeout, "1".cf))
    withExtendedLifetime(peer) {}
  }

  @Test func smallWritesLeaveAtOnceUnlessToldOtherwise() throws {
    let (pair, _) = try CFPair.connected()
    #expect(truth(CFWriteStreamCopyProperty(pair.write, kSocketStreamsNoDelay)) == true)
    #expect(CFWriteStreamSetProperty(pair.write, kSocketStreamsNoDelay, kCFBooleanFalse))
    #expect(truth(CFWriteStreamCopyProperty(pair.write, kSocketStreamsNoDelay)) == false)
    #expect(!CFWriteStreamSetProperty(pair.write, kSocketStreamsNoDelay, "yes".cf))
  }
}
