// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Run loops, modes and dispatch queues.

import CoreFoundation
import Dispatch
import Glibc
import SocketStreams
import Testing

@testable import SocketStreamsCoreFoundation

@Suite struct CFSchedulingTests {
  // S105, S78, S112, S120: a loop that sleeps is woken, and each half is called on its own.
  @Test func theHalvesMayBeOnDifferentThreads() throws {
    let (pair, peer) = try CFPair.connected()
    let reading = LoopThread(), writing = LoopThread()
    let reader = CFClient(), writer = CFClient()
    reader.attach(to: pair.read)
    writer.attach(to: pair.write)
    CFReadStreamScheduleWithRunLoop(pair.read, reading.loop, kCFRunLoopDefaultMode)
    CFWriteStreamScheduleWithRunLoop(pair.write, writing.loop, kCFRunLoopDefaultMode)
    peer.send([1])
    #expect(eventually { reader.has(.hasBytesAvailable) && writer.has(.canAcceptBytes) })
    #expect(reader.entries.allSatisfy { $0.thread == reading.thread })
    #expect(writer.entries.allSatisfy { $0.thread == writing.thread })
    pair.close()
  }

  // S106
  @Test func onSeveralLoopsEachEventComesOnce() throws {
    let (pair, peer) = try CFPair.connected()
    let threads = [LoopThread(), LoopThread(), LoopThread()]
    let client = CFClient()
    let bytes = Shared<[UInt8]>([])
    client.onRead = { stream, event in
      guard event == .hasBytesAvailable else { return }
      let got = read(stream, 1).bytes
      bytes.with { $0 += got }
    }
    client.attach(to: pair.read)
    for thread in threads { CFReadStreamScheduleWithRunLoop(pair.read, thread.loop, kCFRunLoopDefaultMode) }
    let sent = (0..<200).map { UInt8($0) }
    peer.send(sent)
    peer.shutdownWrite()
    #expect(eventually { client.has(.endEncountered) })
    #expect(bytes.value == sent)
    #expect(client.count(.hasBytesAvailable) == 200)
    #expect(client.count(.endEncountered) == 1)
    #expect(client.mostNested == 1)
    CFReadStreamClose(pair.read)
  }

  // S107
  @Test func schedulingTwiceCountsOnce() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read)
    schedule(pair.read)
    CFReadStreamUnscheduleFromRunLoop(pair.read, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode)
    peer.send([1])
    settle()
    #expect(client.events.isEmpty)
  }

  // S109, S110, S100, S111: nothing is lost while it is off the loop.
  @Test func whatHappensWhileUnscheduledIsDeliveredLater() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read)
    CFReadStreamUnscheduleFromRunLoop(pair.read, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode)
    peer.send([1])
    peer.shutdownWrite()
    settle()
    #expect(client.events.isEmpty)
    schedule(pair.read)
    #expect(turn { client.events == [2] })
    CFReadStreamUnscheduleFromRunLoop(pair.read, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode)
    #expect(read(pair.read).bytes == [1])
    settle()
    let other = LoopThread()
    CFReadStreamScheduleWithRunLoop(pair.read, other.loop, kCFRunLoopDefaultMode)
    #expect(eventually { client.events == [2, 16] })
    #expect(client.entries.last?.thread == other.thread)
  }

  // S109: from a callback, in the same turn.
  @Test func unschedulingInACallbackStopsTheRest() throws {
    let (pair, listener) = try CFPair.unopened()
    let client = CFClient()
    client.onWrite = { stream, _ in
      CFWriteStreamUnscheduleFromRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode)
    }
    client.attach(to: pair.write)
    schedule(pair.write)
    CFWriteStreamOpen(pair.write)
    #expect(turn { client.has(.openCompleted) })
    settle()
    #expect(client.events == [1])
    schedule(pair.write)
    #expect(turn { client.events == [1, 4] })
    withExtendedLifetime(listener) {}
  }

  // S78: only in a scheduled mode.
  @Test func eventsComeInTheirModeOnly() throws {
    let (pair, peer) = try CFPair.connected()
    let mode = "SocketStreamsTestMode".cf
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read, mode)
    peer.send([1])
    settle()
    #expect(client.events.isEmpty)
    #expect(turn(mode) { client.events == [2] })
  }

  // S116
  @Test func commonModesWork() throws {
    let (pair, peer) = try CFPair.connected()
    let mode = "SocketStreamsCommonMode".cf
    CFRunLoopAddCommonMode(CFRunLoopGetCurrent(), mode)
    let client = CFClient()
    client.onRead = { stream, _ in _ = read(stream) }
    client.attach(to: pair.read)
    schedule(pair.read, kCFRunLoopCommonModes)
    peer.send([1])
    #expect(turn(mode) { client.events == [2] })
    peer.send([2])
    #expect(turn { client.events == [2, 2] })
    CFReadStreamClose(pair.read)
  }

  // S113, S114
  @Test func closeTakesAStreamOffEveryLoop() throws {
    let (pair, peer) = try CFPair.connected()
    let mode = "SocketStreamsClosingMode".cf
    let other = LoopThread()
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read, mode)
    CFReadStreamScheduleWithRunLoop(pair.read, other.loop, kCFRunLoopDefaultMode)
    #expect(CFRunLoopRunInMode(mode, 0, true) != .finished)
    CFReadStreamClose(pair.read)
    #expect(CFRunLoopRunInMode(mode, 0, true) == .finished, "nothing is left in the mode")
    peer.send([1])
    EventBase.shared.sync {}
    other.sync {}
    #expect(client.events.isEmpty)
  }

  // S78: a nested loop in a private mode.
  @Test func aStreamInTwoModesIsDeliveredInEither() throws {
    let (pair, peer) = try CFPair.connected()
    let mode = "SocketStreamsSecondMode".cf
    let client = CFClient()
    client.onRead = { stream, _ in _ = read(stream) }
    client.attach(to: pair.read)
    schedule(pair.read)
    schedule(pair.read, mode)
    peer.send([1])
    #expect(turn(mode) { client.count(.hasBytesAvailable) == 1 })
    peer.send([2])
    #expect(turn { client.count(.hasBytesAvailable) == 2 })
    CFReadStreamClose(pair.read)
  }
}

@Suite struct CFDispatchQueueTests {
  // T8
  @Test func theNativeQueueOfADispatchQueueIsFound() {
    let queue = DispatchQueue(label: "SocketStreams.test")
    let pair = CFPair(boundWithSize: 1)
    CFReadStreamSetDispatchQueue(pair.read, queue)
    let found = SocketStreamsCopyReadQueue(pair.read)
    #expect(found == queue.nativeQueue)
    if let found { SocketStreamsReleaseQueue(found) }
    CFReadStreamSetDispatchQueue(pair.read, nil)
    #expect(SocketStreamsCopyReadQueue(pair.read) == nil)
  }

  // S117
  @Test func callbacksRunOnTheQueue() throws {
    let (pair, listener) = try CFPair.unopened()
    let queue = DispatchQueue(label: "SocketStreams.test")
    let reader = CFClient(), writer = CFClient()
    let bytes = Shared<[UInt8]>([])
    reader.onRead = { stream, event in
      dispatchPrecondition(condition: .onQueue(queue))
      guard event == .hasBytesAvailable else { return }
      let got = read(stream, 7).bytes
      bytes.with { $0 += got }
    }
    writer.onWrite = { [unowned writer] stream, event in
      dispatchPrecondition(condition: .onQueue(queue))
      if event == .canAcceptBytes, writer.count(.canAcceptBytes) == 1 { write(stream, [1]) }
    }
    reader.attach(to: pair.read)
    writer.attach(to: pair.write)
    CFReadStreamSetDispatchQueue(pair.read, queue)
    CFWriteStreamSetDispatchQueue(pair.write, queue)
    pair.open()
    let peer = try #require(listener.accept())
    let sent = (0..<100).map { UInt8($0) }
    peer.send(sent)
    peer.shutdownWrite()
    #expect(peer.receive(1) == [1])
    #expect(eventually { reader.has(.endEncountered) && writer.count(.canAcceptBytes) == 2 })
    #expect(reader.events.first == 1 && reader.events.last == 16)
    #expect(reader.count(.openCompleted) == 1)
    #expect(writer.events == [1, 4, 4])
    #expect(bytes.value == sent)
    pair.close()
    queue.sync {}
  }

  // S117: NULL stops them.
  @Test func withoutTheQueueTheyStop() throws {
    let (pair, peer) = try CFPair.connected()
    let queue = DispatchQueue(label: "SocketStreams.test")
    let client = CFClient()
    client.onRead = { stream, _ in _ = read(stream) }
    client.attach(to: pair.read)
    CFReadStreamSetDispatchQueue(pair.read, queue)
    peer.send([1])
    #expect(eventually { client.count(.hasBytesAvailable) == 1 })
    queue.sync {}
    CFReadStreamSetDispatchQueue(pair.read, nil)
    peer.send([2])
    EventBase.shared.sync {}
    queue.sync {}
    #expect(client.count(.hasBytesAvailable) == 1)
    CFReadStreamSetDispatchQueue(pair.read, queue)
    #expect(eventually { client.count(.hasBytesAvailable) == 2 })
    CFReadStreamClose(pair.read)
  }

  // S117: setting a queue takes the stream off its loops.
  @Test func aQueueTakesTheStreamOffItsLoops() throws {
    let (pair, peer) = try CFPair.connected()
    let queue = DispatchQueue(label: "SocketStreams.test")
    let client = CFClient()
    client.onRead = { _, _ in dispatchPrecondition(condition: .onQueue(queue)) }
    client.attach(to: pair.read)
    schedule(pair.read)
    CFReadStreamSetDispatchQueue(pair.read, queue)
    peer.send([1])
    #expect(turn { client.has(.hasBytesAvailable) })
    CFReadStreamClose(pair.read)
    queue.sync {}
  }

  // S95 with A14: many streams at once, as each shares CoreFoundation's thread for queues with all the others.
  @Test func closeInACallbackOnAQueueIsAWall() throws {
    let listener = try RawListener(backlog: 200)
    let queue = DispatchQueue(label: "SocketStreams.test")
    let streams = (0..<100).map { _ in CFPair(port: listener.port) }
    let clients = streams.map { _ in CFClient() }
    for (pair, client) in zip(streams, clients) {
      client.onWrite = { stream, _ in CFWriteStreamClose(stream) }
      client.attach(to: pair.write)
      CFWriteStreamSetDispatchQueue(pair.write, queue)
      CFWriteStreamOpen(pair.write)
    }
    #expect(eventually { clients.allSatisfy { $0.has(.openCompleted) } })
    EventBase.shared.sync {}
    queue.sync {}
    #expect(clients.allSatisfy { $0.events == [1] })
  }
}
