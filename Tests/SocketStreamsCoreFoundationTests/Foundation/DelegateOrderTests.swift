// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Delegates of Foundation's socket streams hear of everything once, in whichever order streams are scheduled, opened and
// asked.

import CoreFoundation
import Foundation
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct DelegateOrderTests {
  // S75, S74: with the status asked for between any two steps, until it has changed: CFStream then forgets the event.
  @Test(arguments: 0..<6, [false, true])
  func noEventIsLostInAnyOrder(_ order: Int, _ isPolled: Bool) throws {
    let listener = try RawListener()
    let pair = try FoundationPair(port: listener.port)
    let recorder = Recorder()
    var peer: RawSocket?
    for step in DelegateStep.orders[order] {
      switch step {
      case .schedule: pair.input.schedule(in: .current, forMode: .default)
      case .setDelegate: pair.input.delegate = recorder
      case .open:
        pair.input.open()
        peer = listener.accept()
      }
      if isPolled, peer != nil { #expect(eventually { pair.input.streamStatus == .open }) }
    }
    #expect(recorder.events == [], "never inside a call")
    #expect(turn { recorder.has(.openCompleted) })
    peer?.send([1])
    #expect(turn { recorder.has(.hasBytesAvailable) })
    #expect(read(pair.input) == [1])
    peer?.shutdownWrite()
    #expect(turn { recorder.has(.endEncountered) })
    settle()
    #expect(recorder.events == [1, 2, 16])
  }

  // S74, S94
  @Test(arguments: 0..<6)
  func anEndThatWasReadIsStillTold(_ order: Int) throws {
    let listener = try RawListener()
    let pair = try FoundationPair(port: listener.port)
    let recorder = Recorder()
    for step in DelegateStep.orders[order] {
      switch step {
      case .schedule: pair.input.schedule(in: .current, forMode: .default)
      case .setDelegate: pair.input.delegate = recorder
      case .open:
        pair.input.open()
        let peer = try #require(listener.accept())
        peer.send([1])
        peer.close()
        #expect(readAll(pair.input) == [1])
        #expect(pair.input.streamStatus == .atEnd)
      }
    }
    #expect(turn { recorder.has(.endEncountered) })
    settle()
    #expect(recorder.events == [1, 16])
  }

  // S51, S74, S165
  @Test(arguments: 0..<6)
  func aFailureThatWasSeenIsStillTold(_ order: Int) throws {
    let refused = try RefusedPort()
    let pair = try FoundationPair(port: refused.port)
    let recorder = Recorder()
    for step in DelegateStep.orders[order] {
      switch step {
      case .schedule: pair.input.schedule(in: .current, forMode: .default)
      case .setDelegate: pair.input.delegate = recorder
      case .open:
        pair.input.open()
        #expect(eventually { pair.input.streamStatus == .error })
      }
    }
    #expect(turn { recorder.has(.errorOccurred) })
    settle()
    #expect(recorder.events == [8])
  }

  // S70, S74
  @Test func anotherDelegateHearsOfBytesThatWait() throws {
    let (pair, peer) = try FoundationPair.connected()
    let first = Recorder(), second = Recorder()
    pair.input.delegate = first
    pair.input.schedule(in: .current, forMode: .default)
    peer.send([1])
    #expect(turn { first.has(.hasBytesAvailable) })
    pair.input.delegate = second
    #expect(turn { second.has(.hasBytesAvailable) })
    settle()
    #expect(first.events == [1, 2])
    #expect(second.events == [2])
  }

  // S216: what happens while there is none is told to the next.
  @Test func aDelegateThatComesLateHearsWhatStillHolds() throws {
    let (pair, peer) = try FoundationPair.connected()
    let first = Recorder(), second = Recorder()
    pair.input.delegate = first
    pair.input.schedule(in: .current, forMode: .default)
    #expect(turn { first.has(.openCompleted) })
    pair.input.delegate = nil
    peer.send([1])
    #expect(eventually { pair.input.hasBytesAvailable })
    settle()
    #expect(first.events == [1])
    pair.input.delegate = second
    #expect(turn { second.has(.hasBytesAvailable) })
    #expect(read(pair.input) == [1])
    peer.close()
    #expect(turn { second.has(.endEncountered) })
    #expect(second.events == [2, 16])
  }

  // S97: a loop within a callback.
  @Test func aDelegateIsNotCalledWithinItsCallback() throws {
    let (pair, peer) = try FoundationPair.connected()
    let recorder = Recorder()
    recorder.action = { stream, event in
      if event == .openCompleted {
        peer.send([1])
        _ = eventually { (stream as? InputStream)?.hasBytesAvailable == true }
        settle()
      }
    }
    pair.input.delegate = recorder
    pair.input.schedule(in: .current, forMode: .default)
    #expect(turn { recorder.has(.hasBytesAvailable) })
    #expect(recorder.events == [1, 2])
    #expect(recorder.mostNested == 1)
  }

  // S95, S98
  @Test(arguments: [Stream.Event.openCompleted, .hasBytesAvailable])
  func closingInACallbackIsAWall(_ event: Stream.Event) throws {
    let (pair, peer) = try FoundationPair.connected()
    peer.send([1])
    peer.close()
    let recorder = Recorder()
    recorder.action = { stream, told in if told == event { stream.close() } }
    pair.input.delegate = recorder
    pair.input.schedule(in: .current, forMode: .default)
    #expect(turn { recorder.has(event) })
    settle()
    #expect(recorder.events.last == event.rawValue)
    #expect(pair.input.streamStatus == .closed)
    #expect(read(pair.input) == nil)
  }

  // S33
  @Test func closingBeforeOpeningDoesNothing() throws {
    let listener = try RawListener()
    let pair = try FoundationPair(port: listener.port)
    pair.input.close()
    #expect(pair.input.streamStatus == .notOpen)
    let recorder = Recorder()
    pair.input.delegate = recorder
    pair.input.schedule(in: .current, forMode: .default)
    pair.input.open()
    #expect(turn { recorder.has(.openCompleted) })
  }
}

@Suite struct DelegateScheduleTests {
  // S107, S108
  @Test func theSamePlaceCountsOnceAndAWrongOneDoesNothing() throws {
    let (pair, peer) = try FoundationPair.connected()
    let other = LoopThread()
    let recorder = Recorder()
    pair.input.delegate = recorder
    pair.input.schedule(in: .current, forMode: .default)
    pair.input.schedule(in: .current, forMode: .default)
    pair.input.remove(from: other.runLoop, forMode: .default)
    pair.input.remove(from: .current, forMode: RunLoop.Mode("another"))
    #expect(turn { recorder.has(.openCompleted) })
    pair.input.remove(from: .current, forMode: .default)
    peer.send([1])
    #expect(eventually { pair.input.hasBytesAvailable })
    settle()
    #expect(recorder.events == [1])
    pair.input.schedule(in: .current, forMode: .default)
    #expect(turn { recorder.has(.hasBytesAvailable) })
    #expect(recorder.events == [1, 2])
  }

  // S106
  @Test func aStreamMayHaveSeveralModes() throws {
    let (pair, peer) = try FoundationPair.connected()
    let recorder = Recorder()
    let mode = RunLoop.Mode("SocketStreamsTest")
    pair.input.delegate = recorder
    pair.input.schedule(in: .current, forMode: .default)
    pair.input.schedule(in: .current, forMode: mode)
    #expect(turn(mode.rawValue.cf) { recorder.has(.openCompleted) })
    pair.input.remove(from: .current, forMode: mode)
    peer.send([1])
    #expect(eventually { pair.input.hasBytesAvailable })
    settle(mode.rawValue.cf)
    #expect(recorder.events == [1])
    #expect(turn { recorder.has(.hasBytesAvailable) })
    #expect(recorder.events == [1, 2])
  }

  // S107: removed before the other thread has said which loop it is.
  @Test func removingOvertakesAForeignScheduling() throws {
    let (pair, peer) = try FoundationPair.connected()
    let thread = LoopThread()
    let runLoop = thread.runLoop
    let recorder = Recorder()
    pair.input.delegate = recorder
    let busy = Gate(), goOn = Gate()
    CFRunLoopPerformBlock(thread.loop, kCFRunLoopDefaultMode) {
      busy.open()
      _ = goOn.wait(seconds: 10)
    }
    CFRunLoopWakeUp(thread.loop)
    #expect(busy.wait(seconds: 10))
    pair.input.schedule(in: runLoop, forMode: .default)
    pair.input.remove(from: runLoop, forMode: .default)
    goOn.open()
    peer.send([1])
    #expect(eventually { pair.input.hasBytesAvailable })
    thread.sync {}
    thread.sync {}
    #expect(recorder.events == [])
    pair.input.schedule(in: .current, forMode: .default)
    #expect(turn { recorder.has(.hasBytesAvailable) })
    #expect(recorder.threads.allSatisfy { $0 == pthread_self() })
  }

  // S111
  @Test func movingBetweenThreadsLosesAndRepeatsNothing() throws {
    let (pair, peer) = try FoundationPair.connected()
    let thread = LoopThread()
    let runLoop = thread.runLoop
    let recorder = Recorder()
    let bytes = Shared<[UInt8]>([])
    recorder.action = { stream, event in
      guard event == .hasBytesAvailable, let input = stream as? InputStream else { return }
      let got = read(input, 1) ?? []
      bytes.with { $0 += got }
    }
    pair.input.delegate = recorder
    pair.input.schedule(in: .current, forMode: .default)
    let sent = (0..<200).map { UInt8($0) }
    let sender = onThread {
      peer.send(sent)
      peer.shutdownWrite()
    }
    var isHere = true
    #expect(
      turn {
        if isHere {
          pair.input.remove(from: .current, forMode: .default)
          pair.input.schedule(in: runLoop, forMode: .default)
        } else {
          pair.input.remove(from: runLoop, forMode: .default)
          // A call that is under way there may finish, before this thread is next.
          thread.sync {}
          pair.input.schedule(in: .current, forMode: .default)
        }
        isHere.toggle()
        return recorder.has(.endEncountered)
      })
    #expect(sender.wait(seconds: 10))
    #expect(bytes.value == sent)
    #expect(recorder.count(.openCompleted) == 1)
    #expect(recorder.count(.endEncountered) == 1)
    #expect(recorder.mostNested == 1)
  }

  // S111: bytes that nobody reads, told on one thread, are not told once more on another.
  @Test func bytesThatWaitAreNotToldAgainAfterAMove() throws {
    let (pair, peer) = try FoundationPair.connected()
    let thread = LoopThread()
    let runLoop = thread.runLoop
    let recorder = Recorder()
    pair.input.delegate = recorder
    pair.input.schedule(in: runLoop, forMode: .default)
    peer.send([1])
    #expect(eventually { recorder.has(.hasBytesAvailable) })
    for _ in 0..<3 {
      pair.input.remove(from: runLoop, forMode: .default)
      thread.sync {}
      pair.input.schedule(in: .current, forMode: .default)
      settle()
      pair.input.remove(from: .current, forMode: .default)
      pair.input.schedule(in: runLoop, forMode: .default)
      thread.sync {}
    }
    pair.input.remove(from: runLoop, forMode: .default)
    pair.input.schedule(in: .current, forMode: .default)
    settle()
    #expect(recorder.events == [1, 2])
    #expect(read(pair.input) == [1])
    peer.send([2])
    #expect(turn { recorder.count(.hasBytesAvailable) == 2 })
  }

  // S111: between any two turns of the loop, in which CFStream may know of an event that it did not tell.
  @Test(arguments: 0..<6) func schedulingAgainLosesAndRepeatsNothing(_ turns: Int) throws {
    let (pair, peer) = try FoundationPair.connected()
    let recorder = Recorder()
    pair.input.delegate = recorder
    pair.input.schedule(in: .current, forMode: .default)
    peer.send([1])
    for _ in 0..<turns { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.1, true) }
    pair.input.remove(from: .current, forMode: .default)
    pair.input.schedule(in: .current, forMode: .default)
    #expect(turn { recorder.has(.hasBytesAvailable) })
    settle()
    #expect(recorder.events == [1, 2])
  }

  // S96, S107: changes that come from several threads are put in order.
  @Test func schedulingOnManyThreadsAtOnceIsSafe() throws {
    let (pair, peer) = try FoundationPair.connected()
    let threads = [LoopThread(), LoopThread()]
    let runLoops = threads.map { Handed($0.runLoop) }
    let recorder = Recorder()
    let bytes = Shared<[UInt8]>([])
    recorder.action = { stream, event in
      guard event == .hasBytesAvailable, let input = stream as? InputStream else { return }
      let got = read(input, 1) ?? []
      bytes.with { $0 += got }
    }
    pair.input.delegate = recorder
    let handed = Handed(pair.input)
    let workers = (0..<4).map { worker in
      onThread {
        var generator = SeededGenerator(seed: UInt64(worker))
        for _ in 0..<300 {
          let runLoop = runLoops[Int.random(in: 0...1, using: &generator)].value
          let mode = Bool.random(using: &generator) ? RunLoop.Mode.default : .common
          if Bool.random(using: &generator) {
            handed.value.schedule(in: runLoop, forMode: mode)
          } else {
            handed.value.remove(from: runLoop, forMode: mode)
          }
        }
      }
    }
    for worker in workers { #expect(worker.wait(seconds: 30)) }
    for runLoop in runLoops {
      for mode in [RunLoop.Mode.default, .common] { pair.input.remove(from: runLoop.value, forMode: mode) }
    }
    for thread in threads { thread.sync {} }
    let sent = (0..<100).map { UInt8($0) }
    peer.send(sent)
    peer.shutdownWrite()
    pair.input.schedule(in: runLoops[0].value, forMode: .default)
    #expect(eventually { recorder.has(.endEncountered) })
    #expect(bytes.value == sent)
    #expect(recorder.count(.openCompleted) == 1)
    #expect(recorder.mostNested == 1)
  }
}
