// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What clients of CoreFoundation's socket streams are told, and in which order.

import CoreFoundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct CFClientTests {
  // S61, S62, S63, S65
  @Test func retainsAndReleasesBalance() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.attach(to: pair.read)
    #expect(client.retains == 1)
    schedule(pair.read)
    peer.send([1])
    #expect(turn { client.has(.hasBytesAvailable) })
    CFReadStreamClose(pair.read)
    CFReadStreamSetClient(pair.read, 0, nil, nil)
    #expect(client.retains == client.releases)
    #expect(client.retains >= 1)
  }

  // S59, S60: the struct that described the context is gone by then.
  @Test func anotherClientReplacesTheFirst() throws {
    let (pair, peer) = try CFPair.connected()
    let first = CFClient(), second = CFClient()
    #expect(first.attach(to: pair.read))
    #expect(second.attach(to: pair.read))
    schedule(pair.read)
    peer.send([1])
    #expect(turn { second.has(.hasBytesAvailable) })
    #expect(first.events.isEmpty)
    #expect(first.retains == first.releases)
  }

  // S67, S68: by no events, no callback, or no context.
  @Test(arguments: ["everything", "events", "callback", "context"])
  func aRemovedClientIsNotCalled(without: String) throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read)
    peer.send([1])
    #expect(eventually { CFReadStreamHasBytesAvailable(pair.read) })
    let calls = CFClient()
    for _ in 0..<2 { #expect(remove(from: pair.read, calls, without: without), "removing none is fine") }
    #expect(client.retains == client.releases)
    settle()
    #expect(client.events.isEmpty && calls.events.isEmpty)
    #expect(calls.retains == calls.releases)
  }

  private func remove(from stream: CFReadStream, _ client: CFClient, without: String) -> Bool {
    var context = client.context
    switch without {
    case "events": return CFReadStreamSetClient(stream, 0, CFClient.readCallback, &context)
    case "callback": return CFReadStreamSetClient(stream, allEvents, nil, &context)
    case "context": return CFReadStreamSetClient(stream, allEvents, CFClient.readCallback, nil)
    default: return CFReadStreamSetClient(stream, 0, nil, nil)
    }
  }

  // S66
  @Test func noDescriptionOfAClientIsAskedFor() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.onRead = { stream, event in if event == .hasBytesAvailable { _ = read(stream) } }
    client.attach(to: pair.read)
    schedule(pair.read)
    peer.send([1])
    peer.shutdownWrite()
    #expect(turn { client.has(.endEncountered) })
    CFReadStreamClose(pair.read)
    #expect(client.descriptions == 0)
  }

  // S69, S98: removal in a callback, by a client whose only reference is the stream's.
  @Test func aClientMayBeRemovedInItsCallback() throws {
    let (pair, peer) = try CFPair.connected()
    let isGone = Shared(false)
    let calls = Shared(0)
    do {
      let client = CFClient()
      weak let known = client
      client.onRead = { stream, _ in
        CFReadStreamSetClient(stream, 0, nil, nil)
        calls.with { $0 += 1 }
        isGone.with { $0 = known == nil }
      }
      client.attach(to: pair.read)
    }
    schedule(pair.read)
    peer.send([1])
    #expect(turn { calls.value == 1 })
    peer.send([2])
    settle()
    #expect(calls.value == 1)
    #expect(!isGone.value, "the info was valid until the callback returned")
  }

  // S70, D2: what is still due goes to the new client.
  @Test func aReplacementInACallbackGetsTheRest() throws {
    let (pair, listener) = try CFPair.unopened()
    let first = CFClient(), second = CFClient()
    first.onWrite = { stream, _ in second.attach(to: stream) }
    first.attach(to: pair.write)
    schedule(pair.write)
    CFWriteStreamOpen(pair.write)
    #expect(turn { second.has(.canAcceptBytes) })
    #expect(first.events == [1])
    withExtendedLifetime(listener) {}
  }

  // S71, S72
  @Test func onlyWantedEventsAreDelivered() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.attach(
      to: pair.read, CFStreamEventType.endEncountered.rawValue | CFStreamEventType.canAcceptBytes.rawValue)
    schedule(pair.read)
    peer.send([1])
    peer.shutdownWrite()
    settle()
    #expect(client.events.isEmpty)
    #expect(read(pair.read).bytes == [1])
    #expect(turn { client.events == [16] })
    #expect(CFReadStreamGetStatus(pair.read) == .atEnd)
  }

  // S72: an event that nobody asked for changes the status all the same.
  @Test func anUnwantedOpeningChangesTheStatus() throws {
    let (pair, listener) = try CFPair.unopened()
    let client = CFClient()
    client.attach(to: pair.write, CFStreamEventType.canAcceptBytes.rawValue)
    schedule(pair.write)
    CFWriteStreamOpen(pair.write)
    #expect(turn { client.has(.canAcceptBytes) })
    #expect(client.events == [4])
    #expect(client.entries.first?.status == .open)
    withExtendedLifetime(listener) {}
  }

  // S74, D3: what happened without a client is told to the one that comes.
  @Test func aClientThatComesLateIsToldWhatStillHolds() throws {
    let (pair, listener) = try CFPair.unopened()
    schedule(pair.read)
    CFReadStreamOpen(pair.read)
    let peer = try #require(listener.accept())
    peer.send([1])
    settle()
    let client = CFClient()
    client.attach(to: pair.read)
    #expect(turn { client.events == [1, 2] })
  }

  // S74
  @Test func aWidenedClientIsToldOfBytesThatWait() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.attach(to: pair.read, CFStreamEventType.errorOccurred.rawValue)
    schedule(pair.read)
    peer.send([1])
    settle()
    client.attach(to: pair.read)
    #expect(turn { client.events == [2] })
  }

  // S74: the end was held for it.
  @Test func aClientThatComesAfterTheEndIsToldOfIt() throws {
    let (pair, peer) = try CFPair.connected()
    schedule(pair.read)
    peer.shutdownWrite()
    settle()
    let client = CFClient()
    client.attach(to: pair.read)
    #expect(turn { client.has(.endEncountered) })
    settle()
    #expect(client.count(.endEncountered) == 1)
  }

  // S91: Apple's sockets show the end as bytes to who asks for nothing else.
  @Test(arguments: [false, true])
  func aClientThatAsksOnlyForBytesIsCalledForTheEnd(byReset: Bool) throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    let results = Shared<[CFIndex]>([])
    client.onRead = { stream, _ in results.with { $0.append(read(stream).count) } }
    client.attach(to: pair.read, CFStreamEventType.hasBytesAvailable.rawValue)
    schedule(pair.read)
    if byReset { peer.reset() } else { peer.shutdownWrite() }
    #expect(turn { !results.value.isEmpty })
    settle()
    #expect(results.value == [byReset ? -1 : 0])
    #expect(CFReadStreamGetStatus(pair.read) == (byReset ? .error : .atEnd))
  }

  // S75
  @Test(arguments: ["cso", "cos", "sco", "soc", "ocs", "osc"])
  func theOrderOfClientScheduleAndOpenDoesNotMatter(order: String) throws {
    let (pair, listener) = try CFPair.unopened()
    let client = CFClient()
    var accepted: RawSocket?
    for step in order {
      switch step {
      case "c": client.attach(to: pair.read)
      case "s": schedule(pair.read)
      default:
        CFReadStreamOpen(pair.read)
        accepted = listener.accept()
        accepted?.send([1])
        // What happens at the library's end has happened.
        EventBase.shared.sync {}
      }
    }
    #expect(turn { client.events == [1, 2] })
  }
}

@Suite struct CFDeliveryTests {
  // S50, S78, S79, S80, S35, S86, S101: the opening and the bytes are due in one turn, and are two calls.
  @Test func eventsComeInOrderFromTheLoopsThread() throws {
    let (pair, listener) = try CFPair.unopened()
    let reader = CFClient(), writer = CFClient()
    reader.onRead = { stream, event in if event == .hasBytesAvailable { _ = read(stream) } }
    reader.attach(to: pair.read)
    writer.attach(to: pair.write)
    pair.schedule()
    pair.open()
    let peer = try #require(listener.accept())
    peer.send([1])
    peer.shutdownWrite()
    #expect(reader.events.isEmpty && writer.events.isEmpty, "nothing is delivered inside of a call")
    #expect(turn { reader.has(.endEncountered) })
    settle()
    #expect(reader.events == [1, 2, 16])
    #expect(reader.entries.map(\.status) == [.open, .open, .atEnd])
    #expect(writer.events == [1, 4])
    #expect((reader.entries + writer.entries).allSatisfy { $0.thread == pthread_self() })
  }

  // S81
  @Test func bytesAreAnnouncedOnceUntilARead() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read)
    peer.send([1])
    #expect(turn { client.has(.hasBytesAvailable) })
    peer.send([2])
    settle()
    #expect(client.events == [2])
  }

  // S82, S83
  @Test func aReadAsksForTheEventAgain() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    let bytes = Shared<[UInt8]>([])
    client.onRead = { stream, _ in
      let got = read(stream, 1).bytes
      bytes.with { $0 += got }
    }
    client.attach(to: pair.read)
    schedule(pair.read)
    peer.send([1, 2, 3])
    #expect(turn { bytes.value.count == 3 })
    settle()
    #expect(client.events == [2, 2, 2])
    peer.send([4])
    #expect(turn { bytes.value.count == 4 })
    #expect(client.events == [2, 2, 2, 2])
  }

  // S84
  @Test func aReadBeforeTheEventCancelsIt() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read)
    peer.send([1])
    #expect(eventually { CFReadStreamHasBytesAvailable(pair.read) })
    EventBase.shared.sync {}
    #expect(read(pair.read).bytes == [1])
    settle()
    #expect(client.events.isEmpty)
  }

  // S85
  @Test func arrivalsBeforeTheDeliveryAreOneEvent() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read)
    for byte in 0..<10 { peer.send([UInt8(byte)]) }
    #expect(turn { client.has(.hasBytesAvailable) })
    settle()
    #expect(client.events == [2])
  }

  // S86, S87, S88
  @Test func roomIsAnnouncedOnceUntilAWrite() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.attach(to: pair.write)
    schedule(pair.write)
    #expect(turn { client.has(.canAcceptBytes) })
    settle()
    #expect(client.events == [4])
    #expect(write(pair.write, [1]) == 1)
    #expect(turn { client.count(.canAcceptBytes) == 2 })
    settle()
    #expect(client.events == [4, 4])
    #expect(peer.receive(1) == [1])
  }

  // S88: after a write that filled, when there is room again.
  @Test func roomIsAnnouncedWhenThePeerReads() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.attach(to: pair.write)
    schedule(pair.write)
    turn { client.has(.canAcceptBytes) }
    let block = [UInt8](repeating: 7, count: 65_536)
    var sent = 0
    while CFWriteStreamCanAcceptBytes(pair.write) { sent += write(pair.write, block) }
    settle()
    let before = client.count(.canAcceptBytes)
    settle()
    #expect(client.count(.canAcceptBytes) == before, "there is no room")
    #expect(peer.receive(sent).count == sent)
    #expect(turn { client.count(.canAcceptBytes) == before + 1 })
  }

  // S90, S91, S92, S94
  @Test func theEndComesOnceAfterTheLastByte() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read)
    peer.send([1, 2])
    peer.shutdownWrite()
    #expect(turn { client.has(.hasBytesAvailable) })
    settle()
    #expect(!client.has(.endEncountered))
    #expect(read(pair.read, 2).count == 2)
    #expect(turn { client.has(.endEncountered) })
    #expect(read(pair.read).count == 0)
    #expect(read(pair.read).count == 0)
    settle()
    #expect(client.events == [2, 16])
  }

  // S93, S94, S126, S146, S173
  @Test func aResetIsOneErrorOnBothHalves() throws {
    let (pair, peer) = try CFPair.connected()
    let reader = CFClient(), writer = CFClient()
    reader.onRead = { stream, event in if event == .hasBytesAvailable { _ = read(stream) } }
    reader.attach(to: pair.read)
    writer.attach(to: pair.write, CFStreamEventType.errorOccurred.rawValue)
    pair.schedule()
    peer.reset()
    #expect(turn { reader.has(.errorOccurred) && writer.has(.errorOccurred) })
    settle()
    #expect(reader.count(.errorOccurred) == 1)
    #expect(!reader.has(.endEncountered))
    #expect(writer.events == [8])
    #expect(CFReadStreamGetError(pair.read) == CFWriteStreamGetError(pair.write))
    #expect(read(pair.read).count == -1)
    #expect(write(pair.write, [1]) == -1)
  }

  // S95, D1: after a close in a callback nothing comes, of the same turn either.
  @Test func closeInACallbackIsAWall() throws {
    let (pair, listener) = try CFPair.unopened()
    let client = CFClient()
    client.onWrite = { stream, _ in CFWriteStreamClose(stream) }
    client.attach(to: pair.write)
    schedule(pair.write)
    CFWriteStreamOpen(pair.write)
    #expect(turn { client.has(.openCompleted) })
    settle()
    #expect(client.events == [1])
    withExtendedLifetime(listener) {}
  }

  // S97, D7: CoreFoundation's own guard fails after any nested call.
  @Test func callbacksDoNotNest() throws {
    let (pair, peer) = try CFPair.connected()
    let client = CFClient()
    client.onRead = { stream, _ in
      _ = CFReadStreamGetStatus(stream)
      _ = read(stream, 1)
      for _ in 0..<3 { settle() }
    }
    client.attach(to: pair.read)
    schedule(pair.read)
    peer.send([1, 2, 3])
    #expect(turn { client.count(.hasBytesAvailable) == 3 })
    #expect(client.mostNested == 1)
  }

  // S98: the last reference may go in a callback.
  @Test func theLastReferenceMayGoInACallback() throws {
    let listener = try RawListener()
    let held = Shared<CFPair?>(CFPair(port: listener.port))
    let client = CFClient()
    client.onRead = { stream, event in
      guard event == .hasBytesAvailable else { return }
      held.with { $0 = nil }
      #expect(read(stream).bytes == [1])
      CFReadStreamClose(stream)
    }
    held.with {
      client.attach(to: $0!.read)
      $0!.schedule()
      $0!.open()
    }
    let peer = try #require(listener.accept())
    peer.send([1])
    #expect(turn { client.has(.hasBytesAvailable) })
    CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false)
    #expect(client.events == [1, 2])
  }

  // S99, D9: CoreFoundation's shared source serves the first stream for ever.
  @Test func aBusyStreamDoesNotStarveAnother() throws {
    let (busy, feeder) = try CFPair.connected()
    let (other, peer) = try CFPair.connected()
    let loud = CFClient(), quiet = CFClient()
    loud.onRead = { stream, _ in _ = read(stream, 1) }
    loud.attach(to: busy.read)
    quiet.attach(to: other.read)
    schedule(busy.read)
    schedule(other.read)
    feeder.send([UInt8](repeating: 1, count: 50_000))
    #expect(turn { loud.count(.hasBytesAvailable) > 10 })
    peer.send([1])
    #expect(turn { quiet.has(.hasBytesAvailable) })
    #expect(loud.count(.hasBytesAvailable) < 50_000)
  }

  // S81: what another descriptor's reader has taken by then is not announced.
  @Test func bytesThatAreGoneAreNotAnnounced() throws {
    let sockets = KernelSocketPair()
    defer { withExtendedLifetime(sockets) {} }
    let pair = CFPair(socket: sockets.first)
    let client = CFClient()
    client.attach(to: pair.read, CFStreamEventType.hasBytesAvailable.rawValue)
    schedule(pair.read)
    CFReadStreamOpen(pair.read)
    settle()
    sockets.second.send([1])
    for _ in 0..<4 { EventBase.shared.sync {} }
    var byte: UInt8 = 0
    #expect(recv(sockets.first, &byte, 1, Int32(MSG_DONTWAIT)) == 1)
    settle()
    #expect(client.events.isEmpty)
    #expect(CFReadStreamGetStatus(pair.read) == .open)
    CFReadStreamClose(pair.read)
  }

  // S102
  @Test func nothingIsSignalledBeforeOpen() throws {
    let sockets = KernelSocketPair()
    defer { withExtendedLifetime(sockets) {} }
    let pair = CFPair(socket: sockets.first)
    let client = CFClient()
    client.attach(to: pair.read)
    schedule(pair.read)
    sockets.second.send([1])
    settle()
    #expect(client.events.isEmpty)
    #expect(CFReadStreamGetStatus(pair.read) == .notOpen)
  }

  // S104, S163, S145
  @Test func thePeersEndIsTheReadHalfsAlone() throws {
    let (pair, peer) = try CFPair.connected()
    let reader = CFClient(), writer = CFClient()
    reader.attach(to: pair.read)
    writer.attach(to: pair.write)
    pair.schedule()
    peer.shutdownWrite()
    #expect(turn { reader.has(.endEncountered) })
    settle()
    #expect(!writer.has(.endEncountered) && !writer.has(.errorOccurred))
    #expect(CFWriteStreamGetStatus(pair.write) == .open)
    #expect(write(pair.write, [8]) == 1)
    #expect(peer.receive(1) == [8])
  }
}
