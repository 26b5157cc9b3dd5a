// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the two halves of a pair have to do with each other's events.

import CoreFoundation
import SocketStreams
import SocketStreamsCoreFoundation
import Testing

@Suite struct CFHalvesTests {
  // S103: the server speaks at once, and everything has happened by the time the client's loop turns. S55 (with TLS an
  // opening precedes the handshake) and S150 (nothing is taken during one) wait for TLS.
  @Test(arguments: [false, true])
  func bothOpeningsComeBeforeEitherHalfsData(writerFirst: Bool) throws {
    let listener = try RawListener(backlog: 64)
    for round in 0..<200 {
      let pair = CFPair(port: listener.port)
      let reader = CFClient(), writer = CFClient()
      let order = Shared<[String]>([])
      reader.onRead = { _, event in order.with { $0.append("read \(event.rawValue)") } }
      writer.onWrite = { _, event in order.with { $0.append("write \(event.rawValue)") } }
      reader.attach(to: pair.read)
      writer.attach(to: pair.write)
      if writerFirst {
        schedule(pair.write)
        schedule(pair.read)
        CFWriteStreamOpen(pair.write)
        CFReadStreamOpen(pair.read)
      } else {
        pair.schedule()
        pair.open()
      }
      let peer = try #require(listener.accept())
      peer.send([1])
      for _ in 0..<4 { EventBase.shared.sync {} }
      try #require(turn { reader.has(.hasBytesAvailable) && writer.has(.canAcceptBytes) })
      pair.close()
      let events = order.value
      try #require(Set(events.prefix(2)) == ["read 1", "write 1"], "round \(round): \(events)")
      try #require(Set(events.dropFirst(2)) == ["read 2", "write 4"], "round \(round): \(events)")
    }
  }
}
