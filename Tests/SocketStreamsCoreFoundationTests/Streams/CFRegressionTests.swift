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
      let sockets = SocketPairOfCF()
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
}
