// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Faults of the adapter that were found by reading it and by trying to break it. Each failed before it was mended.

import CoreFoundation
import Dispatch
import Glibc
import SocketStreams
import Testing

@testable import SocketStreamsCoreFoundation

@Suite struct CFFoundRegressions {
  // S46, S47: the queue was asked to do what only the thread that waited on it could go on for.
  @Test func aWriteWhileOpeningOnTheStreamsOwnQueueReturns() throws {
    let hole = try BlackHole()
    let pair = CFPair(port: hole.port)
    nonisolated(unsafe) let (stream, behind) = (pair.write, hole)
    let queue = DispatchQueue(label: "SocketStreams.test")
    let client = CFClient()
    client.attach(to: stream)
    CFWriteStreamSetDispatchQueue(stream, queue)
    let result = Shared<CFIndex?>(nil)
    let isOpening = Gate()
    let written = Gate()
    queue.async {
      CFWriteStreamOpen(stream)
      isOpening.open()
      let count = write(stream, [1])
      result.with { $0 = count }
      written.open()
    }
    #expect(isOpening.wait(seconds: 10))
    _ = behind.open()
    let peer = behind.open()
    #expect(written.wait(seconds: 10))
    #expect(result.value == 1)
    #expect(peer?.receive(1) == [1])
    CFWriteStreamClose(stream)
  }

  // S46, S47: the other loop took the signal, and the one that waited slept on.
  @Test func aReadWhileOpeningBesideAnotherLoopReturns() throws {
    let listener = try RawListener()
    let other = LoopThread()
    for _ in 0..<300 {
      let pair = CFPair(port: listener.port)
      let client = CFClient()
      client.attach(to: pair.read)
      CFReadStreamScheduleWithRunLoop(pair.read, other.loop, kCFRunLoopDefaultMode)
      nonisolated(unsafe) let stream = pair.read
      CFReadStreamOpen(stream)
      let result = Shared<[UInt8]>([])
      let done = onThread {
        let bytes = read(stream).bytes
        result.with { $0 = bytes }
      }
      let peer = try #require(listener.accept())
      peer.send([3])
      try #require(done.wait(seconds: 10))
      #expect(result.value == [3])
      other.sync { CFReadStreamClose(stream) }
    }
  }

  // S30, S125: it left the status Error, with an error that was none.
  @Test func aStreamClosedWhileItIsReadIsClosed() throws {
    let (pair, peer) = try CFPair.connected()
    nonisolated(unsafe) let stream = pair.read
    let done = onThread { _ = read(stream) }
    #expect(eventually { CFReadStreamGetStatus(stream) == .reading })
    CFReadStreamClose(stream)
    #expect(done.wait(seconds: 10))
    #expect(CFReadStreamGetStatus(stream) == .closed)
    #expect(CFReadStreamCopyError(stream) == nil)
    withExtendedLifetime(peer) {}
  }

  // S132, S43: it answered "nothing yet" for ever.
  @Test func getBufferTellsOfAFailure() throws {
    let (pair, peer) = try CFPair.connected()
    peer.reset()
    // The other half finds it out, and with it the connection has failed.
    #expect(eventually { write(pair.write, [1]) == -1 })
    var count: CFIndex = 0
    #expect(CFReadStreamGetBuffer(pair.read, 0, &count) == nil)
    #expect(CFReadStreamGetStatus(pair.read) == .error)
    #expect(CFReadStreamGetError(pair.read) == CFWriteStreamGetError(pair.write))
  }

  // S103: a server that spoke at once was heard before the other half had opened.
  @Test func bothHalvesTellOfTheOpeningBeforeEitherTellsOfMore() throws {
    let listener = try RawListener()
    for _ in 0..<50 {
      let pair = CFPair(port: listener.port)
      let order = Shared<[UInt]>([])
      let reader = CFClient(), writer = CFClient()
      reader.onRead = { _, event in order.with { $0.append(event.rawValue) } }
      writer.onWrite = { _, event in order.with { $0.append(event.rawValue) } }
      reader.attach(to: pair.read)
      writer.attach(to: pair.write)
      pair.schedule()
      pair.open()
      let peer = try #require(listener.accept())
      peer.send([1])
      for _ in 0..<3 { EventBase.shared.sync {} }
      #expect(turn { order.value.count == 4 })
      #expect(Array(order.value.prefix(2)) == [1, 1])
      pair.close()
    }
  }

  // S152: no value is the kind's own default, which for a pair in memory is to tell the end.
  @Test func halfCloseWithoutAValueIsTheDefault() throws {
    let pair = CFPair(boundWithSize: 10)
    pair.open()
    #expect(CFWriteStreamSetProperty(pair.write, kSocketStreamsHalfClose, kCFBooleanFalse))
    #expect(CFWriteStreamSetProperty(pair.write, kSocketStreamsHalfClose, nil))
    CFWriteStreamClose(pair.write)
    #expect(read(pair.read).count == 0)
    #expect(!CFReadStreamSetProperty(pair.read, kSocketStreamsHalfClose, kCFBooleanTrue), "too late")
  }

  // S175: a code that fits no pair of numbers.
  @Test func aForeignErrorWithAnAbsurdCodeIsReadAllTheSame() throws {
    var absurd = 1e300
    let number = CFNumberCreate(nil, .doubleType, &absurd)!
    var keys: [UnsafeRawPointer?] = [
      UnsafeRawPointer(Unmanaged.passUnretained(kCFGetAddrInfoFailureKey).toOpaque())
    ]
    var values: [UnsafeRawPointer?] = [UnsafeRawPointer(Unmanaged.passUnretained(number).toOpaque())]
    let error = CFErrorCreateWithUserInfoKeysAndValues(nil, kCFErrorDomainCFNetwork, 2, &keys, &values, 1)!
    #expect(StreamError.numbers(of: error) == (-1, 2))
  }
}
