// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Faults of streams on dispatch queues that were found, each with what it did.

import CoreFoundation
import Dispatch
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct CFQueueRegressionTests {
  // A14. CoreFoundation's thread for queues moved the stream to a source of its own while the queue was closing it, and
  // CFStreamClose crashed.
  @Test func aStreamMayBeClosedOnItsQueueWhileItOpens() async {
    await #expect(processExitsWith: .success) {
      let queue = DispatchQueue(label: "SocketStreams.test")
      for round in 0..<(isSanitized ? 400 : 4_000) {
        let sockets = SocketPairOfCF()
        queue.sync {
          let pair = CFPair(socket: sockets.first)
          let clients = (CFClient(), CFClient())
          clients.0.attach(to: pair.read)
          clients.1.attach(to: pair.write)
          CFReadStreamSetDispatchQueue(pair.read, queue)
          CFWriteStreamSetDispatchQueue(pair.write, queue)
          pair.open()
          nonisolated(unsafe) let opened = pair
          queue.async {
            // The first event is on its way: at each moment of that, in turn.
            let end = monotonicSeconds() + Double(round % 100) / 1e6
            while monotonicSeconds() < end {}
            opened.close()
          }
        }
        queue.sync {}
        EventBase.shared.sync {}
        withExtendedLifetime(sockets) {}
      }
    }
  }
}
