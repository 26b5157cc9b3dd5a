// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Faults of CoreFoundation's streams that were found, each with what it did. Those on dispatch queues are in
// CFQueueRegressionTests.swift.

import CoreFoundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct CFRegressionTests {
  // S158, S20. The library's thread gave a native socket back some time after the closes. A client that closed the descriptor
  // by then had the blocking mode of whatever came to have its number changed, and could not open another pair with that.
  @Test func aNativeSocketIsItsOwnersWhenBothStreamsAreClosed() throws {
    for _ in 0..<500 {
      let sockets = KernelSocketPair()
      defer { withExtendedLifetime(sockets) {} }
      let pair = CFPair(socket: sockets.first)
      let clients = (CFClient(), CFClient())
      clients.0.attach(to: pair.read)
      clients.1.attach(to: pair.write)
      pair.schedule()
      try #require(CFReadStreamOpen(pair.read), "its number belongs to nobody")
      #expect(CFWriteStreamOpen(pair.write))
      #expect(turn { clients.1.has(.canAcceptBytes) })
      pair.close()
      #expect(fcntl(sockets.first, F_GETFL) & O_NONBLOCK == 0)
    }
  }

  // S176. The error of somebody else's stream has any numbers in it; one beyond 32 bits ended the process.
  @Test(arguments: [Double.infinity, -.infinity, .nan, 1e300])
  func numbersInOthersErrorsMayBeOdd(_ number: Double) throws {
    var value = number
    let odd = CFNumberCreate(nil, .doubleType, &value)!
    for (domain, key) in [
      (kCFErrorDomainCFNetwork, kCFGetAddrInfoFailureKey),
      (kCFErrorDomainPOSIX, "SocketStreamsErrorDomain".cf),
    ] {
      var keys: [UnsafeRawPointer?] = [UnsafeRawPointer(Unmanaged.passUnretained(key).toOpaque())]
      var values: [UnsafeRawPointer?] = [UnsafeRawPointer(Unmanaged.passUnretained(odd).toOpaque())]
      let error = try #require(CFErrorCreateWithUserInfoKeysAndValues(nil, domain, 2, &keys, &values, 1))
      var table = CFReadStreamCallBacks()
      table.version = 2
      table.open = { _, failure, isComplete, info in
        isComplete?.pointee = true
        failure?.pointee = Unmanaged<CFError>.fromOpaque(info!).retain()
        return false
      }
      let stream = CFReadStreamCreate(nil, &table, Unmanaged.passUnretained(error).toOpaque())!
        .takeRetainedValue()
      #expect(!CFReadStreamOpen(stream))
      #expect(CFReadStreamGetError(stream).error == 2)
    }
  }

  // S93. A failure to open was told twice on the loop of another thread: as CFStreamOpen's result, and as the library's event.
  @Test func aFailureToOpenIsToldOnceOnAnotherThread() {
    let thread = LoopThread()
    for _ in 0..<(isSanitized ? 500 : 5_000) {
      let pair = CFPair(socket: -1)
      let client = CFClient()
      client.attach(to: pair.read)
      CFReadStreamScheduleWithRunLoop(pair.read, thread.loop, kCFRunLoopDefaultMode)
      #expect(!CFReadStreamOpen(pair.read))
      #expect(eventually { client.has(.errorOccurred) })
      EventBase.shared.sync {}
      thread.sync {}
      #expect(client.events == [8])
      nonisolated(unsafe) let stream = pair.read
      thread.sync { CFReadStreamClose(stream) }
    }
  }

  // S96, S138, S153. Closed by another thread, a write stream whose socket stays with its read stream left a write that waited
  // for room waiting: until the peer read, to which it then sent bytes.
  @Test func aWriteThatWaitsEndsWithTheClose() throws {
    let (pair, peer) = try CFPair.connected()
    while CFWriteStreamCanAcceptBytes(pair.write) { write(pair.write, [UInt8](repeating: 1, count: 65_536)) }
    let result = Shared(0)
    let waits = Gate()
    nonisolated(unsafe) let writer = pair.write
    let ended = onThread {
      waits.open()
      let count = write(writer, [2])
      result.with { $0 = count }
    }
    #expect(waits.wait(seconds: 10))
    // The status says that the call has begun.
    #expect(eventually { CFWriteStreamGetStatus(pair.write) == .writing })
    CFWriteStreamClose(pair.write)
    #expect(ended.wait(seconds: 10))
    #expect(result.value == -1)
    #expect(CFWriteStreamGetStatus(pair.write) == .closed)
    CFReadStreamClose(pair.read)
    #expect(try #require(peer.receiveAll()).allSatisfy { $0 == 1 })
  }
}
