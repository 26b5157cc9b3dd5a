// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How long Foundation's socket streams and their delegates live.

import CoreFoundation
import Foundation
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct DelegateLifetimeTests {
  // S216
  @Test func theDelegateIsHeldWeakly() throws {
    let (pair, peer) = try FoundationPair.connected()
    weak var known: Recorder?
    do {
      let recorder = Recorder()
      known = recorder
      pair.input.delegate = recorder
      #expect(pair.input.delegate === recorder)
      pair.input.schedule(in: .current, forMode: .default)
    }
    #expect(known == nil)
    #expect(pair.input.delegate == nil)
    // S217
    peer.send([1])
    #expect(eventually { pair.input.hasBytesAvailable })
    settle()
    #expect(read(pair.input) == [1])
  }

  // S217: the delegate goes in its own callback, and on another thread while it may be called.
  @Test func aDelegateMayGoAtAnyTime() throws {
    let (pair, peer) = try FoundationPair.connected()
    let held = Shared<Recorder?>(Recorder())
    let calls = Shared(0)
    held.value?.action = { _, _ in
      calls.with { $0 += 1 }
      held.with { $0 = nil }
    }
    pair.input.delegate = held.value
    pair.input.schedule(in: .current, forMode: .default)
    peer.send([1])
    #expect(turn { calls.value > 0 })
    settle()
    #expect(calls.value == 1)

    let thread = LoopThread()
    pair.input.remove(from: .current, forMode: .default)
    pair.input.schedule(in: thread.runLoop, forMode: .default)
    for _ in 0..<500 {
      let recorder = Recorder()
      recorder.action = { stream, _ in
        if let input = stream as? InputStream, input.hasBytesAvailable { _ = read(input, 1) }
      }
      pair.input.delegate = recorder
      peer.send([1, 2, 3])
    }
    pair.input.delegate = nil
    thread.sync {}
    pair.input.close()
  }

  // S22: nobody but the run loop knows the stream.
  @Test func anOpenScheduledStreamLivesUntilItsEnd() throws {
    let recorder = Recorder()
    weak var known: InputStream?
    let peer: RawSocket
    do {
      let (pair, accepted) = try FoundationPair.connected()
      peer = accepted
      known = pair.input
      pair.input.delegate = recorder
      pair.input.schedule(in: .current, forMode: .default)
      pair.output.close()
    }
    #expect(turn { recorder.has(.openCompleted) })
    #expect(known != nil)
    peer.shutdownWrite()
    #expect(turn { recorder.has(.endEncountered) })
    #expect(known == nil)
    #expect(peer.receiveEnd() == 0, "the last stream's end closes the socket")
  }

  // S22
  @Test func removingFromItsOnlyLoopLetsGoOfAStream() throws {
    let recorder = Recorder()
    weak var known: InputStream?
    let peer: RawSocket
    do {
      let (pair, accepted) = try FoundationPair.connected()
      peer = accepted
      known = pair.input
      pair.input.delegate = recorder
      pair.input.schedule(in: .current, forMode: .default)
      pair.input.schedule(in: .current, forMode: RunLoop.Mode("another"))
      // S107: the same place counts once.
      pair.input.schedule(in: .current, forMode: .default)
    }
    #expect(known != nil)
    known?.remove(from: .current, forMode: .default)
    #expect(known != nil)
    known?.remove(from: .current, forMode: RunLoop.Mode("another"))
    #expect(known == nil)
    #expect(peer.receiveEnd() == 0)
  }

  // S22
  @Test func closingInTheLastCallbackLetsGoOfAStream() throws {
    let recorder = Recorder()
    recorder.action = { stream, _ in stream.close() }
    weak var known: InputStream?
    do {
      let (pair, _) = try FoundationPair.connected()
      known = pair.input
      pair.input.delegate = recorder
      pair.input.schedule(in: .current, forMode: .default)
    }
    #expect(turn { !recorder.events.isEmpty })
    #expect(known == nil)
  }

  // S7: neither open nor in a loop, or not even opened.
  @Test func aStreamThatNobodyRunsGoesAtOnce() throws {
    weak var unscheduled: InputStream?
    weak var unopened: InputStream?
    let peer: RawSocket
    let recorder = Recorder()
    do {
      let (pair, accepted) = try FoundationPair.connected()
      peer = accepted
      unscheduled = pair.input
      pair.input.delegate = recorder
      let other = try FoundationPair(port: 9)
      unopened = other.input
      other.input.delegate = recorder
      other.input.schedule(in: .current, forMode: .default)
      other.input.schedule(in: .current, forMode: RunLoop.Mode("another"))
    }
    #expect(unscheduled == nil)
    #expect(unopened == nil)
    #expect(peer.receiveEnd() == 0)
    settle()
    #expect(recorder.events == [])
  }

  // S7, S8: CFStream has a client, which knows the CF stream.
  @Test(arguments: [false, true])
  func theStreamOfCoreFoundationGoesToo(_ dropsDelegate: Bool) throws {
    weak var reading: CFReadStream?
    weak var writing: CFWriteStream?
    let recorder = Recorder()
    do {
      let (pair, peer) = try FoundationPair.connected()
      reading = (pair.input as? SocketInputStream)?.cfReadStream
      writing = (pair.output as? SocketOutputStream)?.cfWriteStream
      for stream in [pair.input, pair.output] as [Stream] {
        stream.delegate = recorder
        stream.schedule(in: .current, forMode: .default)
      }
      peer.send([1])
      #expect(turn { recorder.has(.hasBytesAvailable) && recorder.has(.hasSpaceAvailable) })
      for stream in [pair.input, pair.output] as [Stream] {
        if dropsDelegate { stream.delegate = nil }
        stream.remove(from: .current, forMode: .default)
      }
      #expect(reading != nil && writing != nil)
    }
    #expect(reading == nil)
    #expect(writing == nil)
  }

  // S22: read to its end without a delegate, an end that nobody else will hear of.
  @Test func aStreamThatWasReadToItsEndIsNotKept() throws {
    weak var known: InputStream?
    do {
      let (pair, peer) = try FoundationPair.connected()
      known = pair.input
      pair.input.schedule(in: .current, forMode: .default)
      peer.close()
      #expect(readAll(pair.input) == [])
    }
    #expect(known == nil)
  }

  // S22: kept by a loop of another thread, and let go of there.
  @Test func aForeignLoopKeepsAndLetsGo() throws {
    let thread = LoopThread()
    let recorder = Recorder()
    weak var known: InputStream?
    let peer: RawSocket
    do {
      let (pair, accepted) = try FoundationPair.connected()
      peer = accepted
      known = pair.input
      pair.input.delegate = recorder
      pair.input.schedule(in: thread.runLoop, forMode: .default)
    }
    #expect(eventually { recorder.has(.openCompleted) })
    #expect(known != nil)
    peer.close()
    #expect(eventually { recorder.has(.endEncountered) })
    #expect(isGone { known })
  }

  // S8, S156: as many descriptors and objects as before.
  @Test func aThousandRoundsLeaveNothing() async {
    await #expect(processExitsWith: .success) {
      let (listener, thread) = (try RawListener(), LoopThread())
      let runLoop = thread.runLoop
      func round(_ number: Int) throws -> () -> AnyObject? {
        let pair = try FoundationPair(port: listener.port)
        let recorder = Recorder()
        pair.input.delegate = recorder
        pair.output.delegate = recorder
        pair.input.schedule(in: .current, forMode: .default)
        if number % 2 == 0 { pair.input.schedule(in: .current, forMode: .common) }
        if number % 3 == 0 { pair.output.schedule(in: runLoop, forMode: .default) }
        pair.open()
        let peer = listener.accept()
        peer?.send([1])
        precondition(turn { recorder.has(.hasBytesAvailable) })
        switch number % 4 {
        case 0: pair.close()
        case 1:
          pair.input.remove(from: .current, forMode: .default)
          pair.output.remove(from: runLoop, forMode: .default)
        case 2:
          pair.output.close()
          precondition(read(pair.input) == [1])
          peer?.shutdownWrite()
          precondition(turn { recorder.has(.endEncountered) })
        default:
          pair.input.close()
          pair.output.close()
        }
        weak let input = pair.input
        weak let output = pair.output
        return { input ?? output }
      }
      for number in 0..<10 { _ = try round(number) }
      let before = openSockets().count
      var left: [() -> AnyObject?] = []
      for number in 0..<1_000 { left.append(try round(number)) }
      precondition(eventually { left.allSatisfy { $0() == nil } }, "streams are left")
      precondition(eventually { openSockets().count <= before }, "\(openSockets().count) for \(before)")
    }
  }
}
