// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Reading and writing: polled, blocking, and into CoreFoundation's buffers.

import CoreFoundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct CFReadingTests {
  // S121
  @Test func aReadReturnsWhatIsThere() throws {
    let (pair, peer) = try CFPair.connected()
    peer.send([1, 2, 3])
    #expect(eventually { CFReadStreamHasBytesAvailable(pair.read) })
    #expect(read(pair.read).bytes == [1, 2, 3])
  }

  // S122: scheduled or not.
  @Test(arguments: [false, true])
  func aReadWaitsForAByte(isScheduled: Bool) throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    if isScheduled {
      client.attach(to: pair.read)
      schedule(pair.read)
    }
    nonisolated(unsafe) let stream = pair.read
    let isReading = Shared(false)
    let sent = onThread {
      let isWaiting = eventually { CFReadStreamGetStatus(stream) == .reading }
      isReading.with { $0 = isWaiting }
      peer.send([5])
    }
    #expect(read(stream).bytes == [5])
    #expect(isReading.value)
    #expect(client.events.isEmpty, "a blocking read calls no client")
    #expect(sent.wait(seconds: 10))
  }

  // S122: for the end and for a failure.
  @Test(arguments: [false, true])
  func aReadWaitsForTheEndAndForAFailure(byReset: Bool) throws {
    let (pair, peer) = try CFPair.connected()
    nonisolated(unsafe) let stream = pair.read
    let isReading = Shared(false)
    let done = onThread {
      let isWaiting = eventually { CFReadStreamGetStatus(stream) == .reading }
      isReading.with { $0 = isWaiting }
      if byReset { peer.reset() } else { peer.shutdownWrite() }
    }
    #expect(read(stream).count == (byReset ? -1 : 0))
    #expect(isReading.value)
    #expect(CFReadStreamGetStatus(stream) == (byReset ? .error : .atEnd))
    #expect(done.wait(seconds: 10))
  }

  // S124, S27
  @Test func theEndIsZeroAgainAndAgain() throws {
    let (pair, peer) = try CFPair.connected()
    peer.shutdownWrite()
    for _ in 0..<3 { #expect(read(pair.read).count == 0) }
    #expect(CFReadStreamGetStatus(pair.read) == .atEnd)
    #expect(CFReadStreamCopyError(pair.read) == nil)
  }

  // S125, S140
  @Test func beforeOpenAndAfterCloseItIsMinusOneWithoutAnError() throws {
    let (pair, listener) = try CFPair.unopened()
    #expect(read(pair.read).count == -1)
    #expect(write(pair.write, [1]) == -1)
    pair.open()
    #expect(eventually { CFReadStreamGetStatus(pair.read) == .open })
    pair.close()
    #expect(read(pair.read).count == -1)
    #expect(write(pair.write, [1]) == -1)
    #expect(CFReadStreamCopyError(pair.read) == nil)
    #expect(CFWriteStreamCopyError(pair.write) == nil)
    withExtendedLifetime(listener) {}
  }

  // S126, S36
  @Test func bytesBeforeAResetAreReadFirst() throws {
    let (pair, peer) = try CFPair.connected()
    peer.send([1, 2, 3])
    #expect(eventually { CFReadStreamHasBytesAvailable(pair.read) })
    #expect(read(pair.read, 1).bytes == [1])
    #expect(CFReadStreamGetStatus(pair.read) == .open)
    #expect(read(pair.read).bytes == [2, 3])
    peer.reset()
    #expect(read(pair.read).count == -1)
    #expect(CFReadStreamGetError(pair.read).error == ECONNRESET)
  }

  // S127: any sizes; 1 MiB of a known pattern.
  @Test(arguments: [1_000, 4_096, 65_536])
  func whatIsReadIsWhatWasSent(size: Int) throws {
    let (pair, peer) = try CFPair.connected()
    let sent = (0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    let done = onThread {
      peer.send(sent)
      peer.shutdownWrite()
    }
    var got: [UInt8] = []
    while true {
      let (count, bytes) = read(pair.read, size)
      if count <= 0 { break }
      got += bytes
    }
    #expect(got == sent)
    #expect(done.wait(seconds: 10))
  }

  // S128
  @Test func aReadOfNothingConsumesNoEvent() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read)
    peer.send([1])
    #expect(eventually { CFReadStreamHasBytesAvailable(pair.read) })
    EventBase.shared.sync {}
    var room: UInt8 = 0
    #expect(CFReadStreamRead(pair.read, &room, 0) == 0)
    #expect(CFReadStreamGetStatus(pair.read) == .open)
    #expect(turn { client.has(.hasBytesAvailable) }, "the event was not consumed")
    #expect(CFReadStreamRead(pair.read, &room, 0) == 0)
    #expect(CFReadStreamGetStatus(pair.read) == .open)
    #expect(read(pair.read).bytes == [1])
    settle()
    #expect(client.events == [2])
  }

  // S28: whatever is called, an end stays an end until the close.
  @Test func theEndIsFollowedByTheCloseAlone() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    peer.shutdownWrite()
    #expect(read(pair.read).count == 0)
    var count: CFIndex = 7
    let calls: [() -> Void] = [
      { _ = CFReadStreamOpen(pair.read) }, { _ = read(pair.read) }, { client.attach(to: pair.read) },
      { schedule(pair.read) }, { _ = CFReadStreamHasBytesAvailable(pair.read) },
      { _ = CFReadStreamGetBuffer(pair.read, 1, &count) }, { settle() }, { write(pair.write, [1]) },
      { CFReadStreamUnscheduleFromRunLoop(pair.read, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode) },
    ]
    for (index, call) in calls.enumerated() {
      call()
      #expect(CFReadStreamGetStatus(pair.read) == .atEnd, "call \(index)")
    }
    #expect(CFReadStreamCopyError(pair.read) == nil)
    CFReadStreamClose(pair.read)
    #expect(CFReadStreamGetStatus(pair.read) == .closed)
  }

  // S129, S130
  @Test func hasBytesAvailableTellsWhetherAReadWouldWait() throws {
    let (pair, listener) = try CFPair.unopened()
    #expect(!CFReadStreamHasBytesAvailable(pair.read))
    pair.open()
    let peer = try #require(listener.accept())
    #expect(eventually { CFReadStreamGetStatus(pair.read) == .open })
    #expect(!CFReadStreamHasBytesAvailable(pair.read))
    peer.send([1])
    #expect(eventually { CFReadStreamHasBytesAvailable(pair.read) })
    #expect(CFReadStreamHasBytesAvailable(pair.read))
    _ = read(pair.read)
    #expect(!CFReadStreamHasBytesAvailable(pair.read))
    peer.shutdownWrite()
    #expect(eventually { CFReadStreamHasBytesAvailable(pair.read) }, "the end was not seen yet")
    #expect(read(pair.read).count == 0)
    #expect(!CFReadStreamHasBytesAvailable(pair.read))
  }

  // S129, S43: who only polls hears of a failure there.
  @Test func aFailureIsSeenByPollingForBytes() throws {
    let (pair, peer) = try CFPair.connected()
    peer.reset()
    // Told to the other half, so that this one has nothing to read that would say so.
    #expect(eventually { write(pair.write, [1]) == -1 })
    #expect(CFReadStreamGetStatus(pair.read) == .open)
    #expect(!CFReadStreamHasBytesAvailable(pair.read))
    #expect(CFReadStreamGetStatus(pair.read) == .error)
    #expect(CFReadStreamGetError(pair.read) == CFWriteStreamGetError(pair.write))
  }

  // S129: the same of room. A failure that this half would find itself is the read half's here.
  @Test func aFailureIsSeenByPollingForRoom() throws {
    let (pair, peer) = try CFPair.connected()
    peer.reset()
    #expect(read(pair.read).count == -1)
    #expect(CFWriteStreamGetStatus(pair.write) == .open)
    #expect(!CFWriteStreamCanAcceptBytes(pair.write))
    #expect(CFWriteStreamGetStatus(pair.write) == .error)
    #expect(CFWriteStreamGetError(pair.write).error == ECONNRESET)
  }

  // S131, S132, S133
  @Test func getBufferShowsBytesAndCountsThemAsRead() throws {
    let (pair, peer) = try CFPair.connected()
    var count: CFIndex = 7
    #expect(CFReadStreamGetBuffer(pair.read, 0, &count) == nil)
    #expect(count == 0)
    peer.send([1, 2, 3, 4])
    #expect(eventually { CFReadStreamHasBytesAvailable(pair.read) })
    let first = try #require(CFReadStreamGetBuffer(pair.read, 3, &count))
    #expect(Array(UnsafeBufferPointer(start: first, count: count)) == [1, 2, 3])
    let second = try #require(CFReadStreamGetBuffer(pair.read, 0, &count))
    #expect(Array(UnsafeBufferPointer(start: second, count: count)) == [4])
    peer.shutdownWrite()
    #expect(eventually { CFReadStreamHasBytesAvailable(pair.read) })
    #expect(CFReadStreamGetBuffer(pair.read, 0, &count) == nil)
    #expect(CFReadStreamGetStatus(pair.read) == .atEnd)
    CFReadStreamClose(pair.read)
    #expect(CFReadStreamGetBuffer(pair.read, 0, &count) == nil)
    #expect(count == -1)
  }

  // S82: a buffer that was got asks for the event again.
  @Test func getBufferAsksForTheEventAgain() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.onRead = { stream, _ in
      var count: CFIndex = 0
      _ = CFReadStreamGetBuffer(stream, 2, &count)
    }
    client.attach(to: pair.read)
    schedule(pair.read)
    peer.send([1, 2, 3, 4, 5])
    #expect(turn { client.count(.hasBytesAvailable) == 3 })
    settle()
    #expect(client.events == [2, 2, 2])
  }

  // S26: a close on another thread ends a read that waits.
  @Test func aCloseEndsABlockingRead() throws {
    let (pair, peer) = try CFPair.connected()
    nonisolated(unsafe) let stream = pair.read
    let result = Shared<CFIndex?>(nil)
    let done = onThread {
      let count = read(stream).count
      result.with { $0 = count }
    }
    #expect(eventually { CFReadStreamGetStatus(stream) == .reading })
    CFReadStreamClose(stream)
    #expect(done.wait(seconds: 10))
    #expect(result.value == -1)
    withExtendedLifetime(peer) {}
  }
}

@Suite struct CFWritingTests {
  // S137, S148: what was taken survives the close.
  @Test func whatWasTakenIsSentInOrderAndSurvivesTheClose() throws {
    let (pair, peer) = try CFPair.connected()
    // Each byte says where it is.
    let period = 251
    let block = (0..<300_000).map { UInt8($0 % period) }
    var taken = 0
    while CFWriteStreamCanAcceptBytes(pair.write) {
      let count = write(pair.write, Array(block[(taken % period)...]))
      #expect(count >= 1)
      taken += count
      if taken > 50_000_000 { break }
    }
    pair.close()
    let got = try #require(peer.receiveAll(seconds: 30))
    try #require(got.count == taken && taken > period)
    #expect(got.starts(with: block.prefix(period)))
    let isPeriodic = got.withUnsafeBytes { bytes in
      memcmp(bytes.baseAddress!, bytes.baseAddress! + period, taken - period) == 0
    }
    #expect(isPeriodic, "bytes are out of order")
  }

  // S138, S144, S149, S26
  @Test func aWriteWaitsForRoom() throws {
    let (pair, peer) = try CFPair.connected()
    let block = [UInt8](repeating: 3, count: 100_000)
    var taken = 0
    while CFWriteStreamCanAcceptBytes(pair.write) { taken += write(pair.write, block) }
    nonisolated(unsafe) let stream = pair.write
    let result = Shared<CFIndex?>(nil)
    let done = onThread {
      let count = write(stream, block)
      result.with { $0 = count }
    }
    #expect(eventually { CFWriteStreamGetStatus(stream) == .writing })
    #expect(result.value == nil)
    #expect(peer.receive(taken).count == taken)
    #expect(done.wait(seconds: 10))
    #expect(result.value ?? 0 >= 1)
    #expect(eventually { CFWriteStreamCanAcceptBytes(stream) })
  }

  // S141, S143
  @Test func aWriteOfNothingIsMinusOneAndBreaksNothing() throws {
    let (pair, peer) = try CFPair.connected()
    #expect(CFWriteStreamWrite(pair.write, [1], 0) == -1)
    #expect(CFWriteStreamGetStatus(pair.write) == .open)
    #expect(CFWriteStreamCopyError(pair.write) == nil)
    #expect(write(pair.write, [2]) == 1)
    #expect(peer.receive(1) == [2])
  }

  // S146, S147
  @Test func aWriteAfterAResetFailsWithoutASignal() throws {
    let (pair, peer) = try CFPair.connected()
    peer.reset()
    #expect(eventually { write(pair.write, [1]) == -1 })
    #expect([EPIPE, ECONNRESET].contains(CFWriteStreamGetError(pair.write).error))
    #expect(CFWriteStreamGetStatus(pair.write) == .error)
  }
}

@Suite struct CFBoundPairTests {
  // S122, S138: both ends wait for each other, on two threads and without a loop.
  @Test func bothEndsMayWait() throws {
    let sent = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    for _ in 0..<20 {
      let pair = CFPair(boundWithSize: 1_000)
      pair.open()
      nonisolated(unsafe) let output = pair.write
      let written = onThread {
        var rest = sent[...]
        while !rest.isEmpty {
          let count = write(output, Array(rest.prefix(4_096)))
          if count <= 0 { break }
          rest = rest.dropFirst(count)
        }
        CFWriteStreamClose(output)
      }
      var got: [UInt8] = []
      while true {
        let (count, bytes) = read(pair.read, 3_000)
        if count <= 0 { break }
        got += bytes
      }
      #expect(got == sent)
      #expect(written.wait(seconds: 10))
    }
  }

  // S124, S127, T4
  @Test func whatIsWrittenIsReadAndTheEndFollows() throws {
    let pair = CFPair(boundWithSize: 10)
    pair.open()
    #expect(CFReadStreamGetStatus(pair.read) == .open)
    #expect(write(pair.write, Array(0..<20)) == 10)
    #expect(!CFWriteStreamCanAcceptBytes(pair.write))
    #expect(read(pair.read, 4).bytes == [0, 1, 2, 3])
    #expect(CFWriteStreamCanAcceptBytes(pair.write))
    CFWriteStreamClose(pair.write)
    #expect(read(pair.read).bytes == [4, 5, 6, 7, 8, 9])
    #expect(read(pair.read).count == 0)
  }

  @Test func itsEventsComeLikeASockets() throws {
    let pair = CFPair(boundWithSize: 4)
    let reader = CFClient(), writer = CFClient()
    let got = Shared<[UInt8]>([])
    var rest = Array(UInt8(0)..<50)[...]
    reader.onRead = { stream, event in
      guard event == .hasBytesAvailable else { return }
      let bytes = read(stream).bytes
      got.with { $0 += bytes }
    }
    writer.onWrite = { stream, event in
      guard event == .canAcceptBytes else { return }
      if rest.isEmpty { return CFWriteStreamClose(stream) }
      rest = rest.dropFirst(write(stream, Array(rest)))
    }
    reader.attach(to: pair.read)
    writer.attach(to: pair.write)
    pair.schedule()
    pair.open()
    #expect(turn { reader.has(.endEncountered) })
    #expect(got.value == Array(0..<50))
    #expect(reader.events.first == 1 && writer.events.first == 1)
  }

  @Test(arguments: [0, -1])
  func aSizeOfNothingIsTheUsualSize(size: Int) {
    let pair = CFPair(boundWithSize: size)
    pair.open()
    #expect(write(pair.write, [UInt8](repeating: 1, count: 1_000)) == 1_000)
  }
}
