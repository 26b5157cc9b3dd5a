// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The main run loop. Of XCTest, which runs its tests on the main thread: Swift Testing leaves that thread on Linux, and the
// main run loop with it.

import CoreFoundation
import Foundation
import SocketStreamsCoreFoundation
import XCTest

final class MainRunLoopTests: XCTestCase {
  // S215
  func testTheDelegateIsCalledOnMain() throws {
    let (pair, peer) = try FoundationPair.connected()
    let recorder = Recorder()
    pair.input.delegate = recorder
    pair.input.schedule(in: .main, forMode: .common)
    peer.send([1])
    let limit = Date(timeIntervalSinceNow: 10)
    while !recorder.has(.hasBytesAvailable), Date() < limit {
      RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.05))
    }
    XCTAssertEqual(recorder.events, [1, 2])
    XCTAssertTrue(Thread.isMainThread)
    XCTAssertTrue(recorder.threads.allSatisfy { $0 == pthread_self() })
    pair.close()
  }

  // S215: scheduled by another thread, which knows the main loop.
  func testAnotherThreadMaySayMain() throws {
    let (pair, peer) = try FoundationPair.connected()
    let recorder = Recorder()
    let handed = Handed(pair.input)
    let scheduled = onThread {
      handed.value.delegate = recorder
      handed.value.schedule(in: .main, forMode: .default)
    }
    XCTAssertTrue(scheduled.wait(seconds: 10))
    peer.shutdownWrite()
    let limit = Date(timeIntervalSinceNow: 10)
    while !recorder.has(.endEncountered), Date() < limit {
      RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.05))
    }
    XCTAssertEqual(recorder.events, [1, 16])
    XCTAssertTrue(recorder.threads.allSatisfy { $0 == pthread_self() })
    pair.close()
  }
}
