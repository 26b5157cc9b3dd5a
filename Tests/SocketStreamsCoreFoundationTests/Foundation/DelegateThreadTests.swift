// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Delegates of Foundation's socket streams: on which thread they are called, wherever the run loop is.

import CoreFoundation
import Dispatch
import Foundation
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct DelegateThreadTests {
  // S215
  @Test func theDelegateIsCalledOnTheCurrentRunLoopOneEventACall() throws {
    let (pair, peer) = try FoundationPair.connected()
    let recorder = Recorder()
    recorder.action = { stream, event in
      if event == .hasBytesAvailable, let input = stream as? InputStream { _ = read(input) }
    }
    pair.input.delegate = recorder
    pair.input.schedule(in: .current, forMode: .default)
    peer.send([1])
    #expect(turn { recorder.count(.hasBytesAvailable) == 1 })
    peer.shutdownWrite()
    #expect(turn { recorder.has(.endEncountered) })
    settle()
    #expect(recorder.events == [1, 2, 16])
    #expect(recorder.entries.map(\.status) == [.open, .open, .atEnd])
    #expect(recorder.threads.allSatisfy { $0 == pthread_self() })
    #expect(recorder.entries.allSatisfy { $0.stream == ObjectIdentifier(pair.input) })
  }

  // S215, S86, S87
  @Test func roomToWriteIsToldOnceUntilAWrite() throws {
    let (pair, peer) = try FoundationPair.connected()
    let recorder = Recorder()
    pair.output.delegate = recorder
    pair.output.schedule(in: .current, forMode: .default)
    #expect(turn { recorder.has(.hasSpaceAvailable) })
    settle()
    #expect(recorder.events == [1, 4])
    #expect(writeAll(pair.output, [7]))
    #expect(turn { recorder.count(.hasSpaceAvailable) == 2 })
    #expect(peer.receive(1) == [7])
  }

  // S215: everything on the thread itself, which runs Foundation's loop.
  @Test func aThreadOfFoundationsRunsItsOwnStreams() throws {
    let listener = try RawListener()
    let recorder = Recorder()
    let ended = Gate()
    let isSameThread = Shared(false)
    let port = listener.port
    Thread.detachNewThread {
      let own = pthread_self()
      if let pair = try? FoundationPair(port: port) {
        pair.input.delegate = recorder
        pair.input.schedule(in: .current, forMode: .default)
        pair.open()
        let limit = Date(timeIntervalSinceNow: 10)
        while !recorder.has(.endEncountered), Date() < limit {
          _ = RunLoop.current.run(mode: .default, before: limit)
        }
        pair.close()
      }
      isSameThread.with { $0 = recorder.threads.allSatisfy { $0 == own } }
      ended.open()
    }
    let peer = try #require(listener.accept())
    peer.shutdownWrite()
    #expect(ended.wait(seconds: 20))
    #expect(recorder.events == [1, 16])
    #expect(isSameThread.value)
  }

  // S215: only that thread can say which loop of CoreFoundation's it is.
  @Test func aForeignRunLoopIsFoundAndWoken() throws {
    let (pair, peer) = try FoundationPair.connected()
    let thread = LoopThread()
    let recorder = Recorder()
    pair.input.delegate = recorder
    pair.input.schedule(in: thread.runLoop, forMode: .default)
    #expect(eventually { recorder.has(.openCompleted) })
    peer.send([1])
    #expect(eventually { recorder.has(.hasBytesAvailable) })
    thread.sync {}
    #expect(recorder.events == [1, 2])
    #expect(recorder.threads.allSatisfy { $0 == thread.thread })
    pair.input.remove(from: thread.runLoop, forMode: .default)
  }

  // S215, S75
  @Test(arguments: DelegateStep.orders.indices)
  func aForeignRunLoopServesEveryOrderOfCalls(_ order: Int) throws {
    let listener = try RawListener()
    let pair = try FoundationPair(port: listener.port)
    let thread = LoopThread()
    let runLoop = thread.runLoop
    let recorder = Recorder()
    for step in DelegateStep.orders[order] {
      switch step {
      case .schedule: pair.input.schedule(in: runLoop, forMode: .default)
      case .setDelegate: pair.input.delegate = recorder
      case .open: pair.input.open()
      }
    }
    let peer = try #require(listener.accept())
    peer.send([1])
    #expect(eventually { recorder.has(.hasBytesAvailable) })
    #expect(recorder.events == [1, 2])
    #expect(recorder.threads.allSatisfy { $0 == thread.thread })
    pair.input.close()
  }

  // S215
  @Test func aDispatchQueuesThreadMayRunALoop() throws {
    let (pair, peer) = try FoundationPair.connected()
    let recorder = Recorder()
    let handed = Handed(pair)
    let ended = Gate()
    let isSameThread = Shared(false)
    DispatchQueue(label: "streams").async {
      let own = pthread_self()
      handed.value.input.delegate = recorder
      handed.value.input.schedule(in: .current, forMode: .default)
      let limit = Date(timeIntervalSinceNow: 10)
      while !recorder.has(.hasBytesAvailable), Date() < limit {
        _ = RunLoop.current.run(mode: .default, before: limit)
      }
      handed.value.input.close()
      isSameThread.with { $0 = recorder.threads.allSatisfy { $0 == own } }
      ended.open()
    }
    peer.send([1])
    #expect(ended.wait(seconds: 20))
    #expect(recorder.events == [1, 2])
    #expect(isSameThread.value)
  }

  // S112
  @Test func theHalvesMayBeOnDifferentThreads() throws {
    let (pair, peer) = try FoundationPair.connected()
    let thread = LoopThread()
    let reader = Recorder(), writer = Recorder()
    pair.input.delegate = reader
    pair.output.delegate = writer
    pair.input.schedule(in: thread.runLoop, forMode: .default)
    pair.output.schedule(in: .current, forMode: .default)
    peer.send([1])
    #expect(turn { writer.has(.hasSpaceAvailable) })
    #expect(eventually { reader.has(.hasBytesAvailable) })
    #expect(reader.threads.allSatisfy { $0 == thread.thread })
    #expect(writer.threads.allSatisfy { $0 == pthread_self() })
    pair.close()
  }

  // S48, S49: a read that waits for the opening runs the loop, but not the delegate.
  @Test func theDelegateIsNotCalledInsideARead() throws {
    let listener = try RawListener()
    let pair = try FoundationPair(port: listener.port)
    let recorder = Recorder()
    pair.input.delegate = recorder
    pair.input.schedule(in: .current, forMode: .default)
    pair.input.open()
    let peer = Shared<RawSocket?>(nil)
    let accepted = onThread {
      let socket = listener.accept()
      socket?.send([9])
      peer.with { $0 = socket }
    }
    #expect(read(pair.input) == [9])
    #expect(recorder.events == [])
    #expect(turn { recorder.has(.openCompleted) })
    #expect(recorder.events == [1])
    #expect(accepted.wait(seconds: 10))
  }
}
