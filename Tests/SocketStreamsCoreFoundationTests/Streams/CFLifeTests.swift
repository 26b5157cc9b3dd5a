// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Lives of streams: races, who keeps whom, and that nothing is left.

import CoreFoundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct CFRaceTests {
  // Section 1.6, S44, S50, D19: CoreFoundation alone loses a fifth of these openings.
  @Test func noOpeningIsLostToAClientThatPolls() throws {
    let directory = try SocketDirectory()
    let listener = try RawListener(unixPath: directory.file(), backlog: 4_096)
    let rounds = isSanitized ? 3_000 : 30_000
    let accepting = onThread {
      for _ in 0..<rounds { guard listener.accept() != nil else { return } }
    }
    var lost = 0
    var toldWrongly = 0
    for round in 0..<rounds {
      let stream = try makeReadStream(to: listener)
      let client = CFClient()
      if round % 2 == 0 {
        client.attach(to: stream)
        schedule(stream)
      }
      CFReadStreamOpen(stream)
      let end = monotonicSeconds() + 10
      while CFReadStreamGetStatus(stream) == .opening, monotonicSeconds() < end {}
      let status = CFReadStreamGetStatus(stream)
      if status != .open && status != .atEnd { lost += 1 }
      if round % 2 == 0 {
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false)
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false)
        if client.count(.openCompleted) != 1 || client.events.first != 1 { toldWrongly += 1 }
      }
      CFReadStreamClose(stream)
    }
    #expect(lost == 0)
    #expect(toldWrongly == 0)
    #expect(accepting.wait(seconds: 20))
  }

  // S87, S88: one event a write, also when the library's thread is about to tell of room while the client writes.
  @Test func roomIsToldOnceAWriteWhateverTheThreadsDo() {
    let pair = CFPair(boundWithSize: 16)
    let client = CFClient()
    client.attach(to: pair.write)
    schedule(pair.write)
    pair.open()
    turn { client.has(.canAcceptBytes) }
    var repeats = 0
    for _ in 0..<(isSanitized ? 1_000 : 5_000) {
      let before = client.count(.canAcceptBytes)
      for _ in 0..<8 { write(pair.write, [1]) }
      turn { client.count(.canAcceptBytes) > before }
      for _ in 0..<2 {
        EventBase.shared.sync {}
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true)
      }
      repeats += client.count(.canAcceptBytes) - before - 1
      _ = read(pair.read, 8)
    }
    #expect(repeats == 0)
    pair.close()
  }

  // S111, A13: moved from thread to thread while bytes come, each move made on the thread that it leaves or joins.
  // CoreFoundation's own lists do not stand two threads that schedule one stream at once.
  @Test func movingUnderLoadLosesAndRepeatsNothing() throws {
    let (pair, peer) = try CFPair.connected()
    nonisolated(unsafe) let stream = pair.read
    let sent = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let client = CFClient()
    let got = Shared<[UInt8]>([])
    client.onRead = { stream, event in
      guard event == .hasBytesAvailable else { return }
      let bytes = read(stream, 500).bytes
      got.with { $0 += bytes }
    }
    client.attach(to: stream)
    let sending = onThread {
      for start in stride(from: 0, to: sent.count, by: 1_000) { peer.send(sent[start..<start + 1_000]) }
      peer.shutdownWrite()
    }
    let threads = [LoopThread(), LoopThread(), LoopThread()]
    var moves = 0
    while !client.has(.endEncountered), moves < 5_000 {
      let thread = threads[moves % threads.count]
      thread.sync { CFReadStreamScheduleWithRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode) }
      thread.sync {}
      thread.sync { CFReadStreamUnscheduleFromRunLoop(stream, CFRunLoopGetCurrent(), kCFRunLoopDefaultMode) }
      moves += 1
    }
    #expect(got.value == sent)
    #expect(client.count(.endEncountered) == 1)
    #expect(client.mostNested == 1)
    #expect(Set(client.entries.map(\.thread)) == Set(threads.map(\.thread)))
    #expect(sending.wait(seconds: 10))
    CFReadStreamClose(stream)
  }
}

extension CFRaceTests {
  // S111: taken off a loop by another thread, which cannot know whether an event is just being passed on there.
  @Test func unschedulingFromAnotherThreadLosesNoBytes() throws {
    let (pair, peer) = try CFPair.connected()
    nonisolated(unsafe) let stream = pair.read
    let sent = (0..<2_000).map { UInt8(truncatingIfNeeded: $0) }
    let client = CFClient()
    let got = Shared<[UInt8]>([])
    client.onRead = { stream, event in
      guard event == .hasBytesAvailable, CFReadStreamHasBytesAvailable(stream) else { return }
      let bytes = read(stream, 1).bytes
      got.with { $0 += bytes }
    }
    client.attach(to: stream)
    peer.send(sent)
    let threads = [LoopThread(), LoopThread()]
    var moves = 0
    while got.value.count < sent.count, moves < 100_000 {
      let thread = threads[moves % 2]
      CFReadStreamScheduleWithRunLoop(stream, thread.loop, kCFRunLoopDefaultMode)
      let before = got.value.count
      // At least one event came: so the move did not just wait for the next one.
      try #require(eventually { got.value.count > before || got.value.count == sent.count })
      CFReadStreamUnscheduleFromRunLoop(stream, thread.loop, kCFRunLoopDefaultMode)
      // What is under way there ends before the stream is seen elsewhere.
      thread.sync {}
      moves += 1
    }
    #expect(got.value == sent)
    CFReadStreamClose(stream)
  }
}

@Suite struct CFLifeTests {
  // A13, S22: kept while it is open and scheduled anywhere; not by a loop after its end.
  @Test(arguments: [1, 2])
  func aScheduledStreamIsKeptUntilItsTerminalEvent(modes: Int) throws {
    let listener = try RawListener()
    let client = CFClient()
    let peer: RawSocket? = {
      let pair = CFPair(port: listener.port)
      client.onRead = { stream, event in
        if event == .hasBytesAvailable { _ = read(stream) }
        // CoreFoundation itself keeps a stream that is scheduled once.
        if event == .endEncountered { CFReadStreamClose(stream) }
      }
      client.attach(to: pair.read)
      schedule(pair.read)
      if modes == 2 { schedule(pair.read, "SocketStreamsOtherMode".cf) }
      CFReadStreamOpen(pair.read)
      return listener.accept()
    }()
    let connected = try #require(peer)
    connected.send([1])
    #expect(turn { client.has(.hasBytesAvailable) })
    connected.shutdownWrite()
    #expect(turn { client.has(.endEncountered) })
    #expect(connected.receiveEnd() == 0, "nobody keeps it any more")
    settle()
    #expect(client.retains == client.releases)
  }

  // S7, S9: never scheduled, it goes with its last reference.
  @Test func anUnscheduledStreamGoesWithItsLastReference() throws {
    let listener = try RawListener()
    let client = CFClient()
    let peer: RawSocket? = {
      let pair = CFPair(port: listener.port)
      client.attach(to: pair.read)
      pair.open()
      return listener.accept()
    }()
    #expect(try #require(peer).receiveEnd() == 0)
    #expect(client.retains == client.releases)
  }

  // A13: off the last loop, it is the owner's alone again.
  @Test func unschedulingLetsGo() throws {
    let listener = try RawListener()
    let peer: RawSocket? = {
      let pair = CFPair(port: listener.port)
      let other = "SocketStreamsOtherMode".cf
      for mode in [kCFRunLoopDefaultMode, other] { schedule(pair.read, mode) }
      CFReadStreamOpen(pair.read)
      let peer = listener.accept()
      for mode in [kCFRunLoopDefaultMode, other] {
        CFReadStreamUnscheduleFromRunLoop(pair.read, CFRunLoopGetCurrent(), mode)
      }
      return peer
    }()
    #expect(try #require(peer).receiveEnd() == 0)
  }

  // A thousand lives: every descriptor, source, stream and context is back.
  @Test func afterAThousandRoundsNothingIsLeft() async {
    await #expect(processExitsWith: .success) {
      let listener = try RawListener(backlog: 64)
      let mode = "SocketStreamsCountedMode".cf
      var clients: [CFClient] = []
      var streams: [() -> AnyObject?] = []
      func round(_ number: Int) throws {
        let pair = CFPair(port: listener.port)
        let client = CFClient()
        client.onRead = { stream, event in if event == .hasBytesAvailable { _ = read(stream) } }
        client.attach(to: pair.read)
        client.attach(to: pair.write)
        pair.schedule(mode)
        if number % 2 == 0 { pair.schedule() }
        pair.open()
        let peer = try #require(listener.accept())
        peer.send([1])
        if number % 3 == 0 { peer.reset() } else { peer.shutdownWrite() }
        _ = turn(mode) { client.has(.errorOccurred) || client.has(.endEncountered) }
        write(pair.write, [2])
        switch number % 4 {
        case 0: pair.close()
        case 1:
          CFWriteStreamClose(pair.write)
          CFReadStreamClose(pair.read)
        default:
          for mode in [mode, kCFRunLoopDefaultMode!] {
            CFReadStreamUnscheduleFromRunLoop(pair.read, CFRunLoopGetCurrent(), mode)
            CFWriteStreamUnscheduleFromRunLoop(pair.write, CFRunLoopGetCurrent(), mode)
          }
        }
        clients.append(client)
        weak let reader = pair.read
        weak let writer = pair.write
        streams.append { reader ?? writer }
      }
      for number in 0..<10 { try round(number) }
      EventBase.shared.sync {}
      let before = openDescriptors().count
      let sockets = openSockets().count
      // What the threads of the runtime and of the library still make when they first need it.
      let few = 8
      for number in 0..<(isSanitized ? 200 : 1_000) { try round(number) }
      precondition(eventually { openDescriptors().count <= before + few }, "descriptors: \(openSockets(""))")
      precondition(eventually { openSockets().count <= sockets }, "sockets: \(openSockets())")
      precondition(eventually { streams.allSatisfy { $0() == nil } }, "streams")
      precondition(eventually { clients.allSatisfy { $0.retains == $0.releases } }, "contexts")
      precondition(CFRunLoopRunInMode(mode, 0, true) == .finished, "sources in the mode")
    }
  }
}
