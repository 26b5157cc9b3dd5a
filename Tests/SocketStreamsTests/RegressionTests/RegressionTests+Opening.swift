// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("Faults that were found: closing while opening", .timeLimit(.minutes(2)))
struct OpeningRegressions {
  // S152: a write half that was closed before there was a connection never told its end.
  @Test(
    "an output that is closed while the pair connects says the end when it has; reading goes on",
    arguments: [ConnectionOptions.Transport.direct, .bufferevent])
  func outputClosedEarly(_ transport: ConnectionOptions.Transport) throws {
    let base = try EventBase.startThread()
    for round in 0..<20 {
      let listener = try RawListener()
      var options = ConnectionOptions()
      options.transport = transport
      let pair = StreamPair(address: SocketAddress(ip: "127.0.0.1", port: listener.port)!, options: options)
      if round.isMultiple(of: 2) { pair.schedule(on: base) }
      pair.open()
      pair.output.close()
      let socket = try #require(listener.accept())
      #expect(socket.receiveEnd() == 0)
      #expect(socket.send([7]) == 0)
      #expect(pair.input.waitUntilReady(timeout: .seconds(10)))
      #expect(try readSome(pair.input, 1) == [7])
      pair.close()
    }
    base.stop()
  }

  @Test(
    "an output that is closed while the pair connects does not keep a pair that is closed or cannot connect")
  func nobodyWaits() throws {
    let before = openSockets()
    let isOver = Shared(0)
    for isRefused in [true, false] {
      let refused = try RefusedPort()
      let hole = try BlackHole()
      let port = isRefused ? refused.port : hole.port
      let pair = StreamPair(address: SocketAddress(ip: "127.0.0.1", port: port)!)
      pair.whenOver { isOver.with { $0 += 1 } }
      pair.open()
      pair.output.close()
      if isRefused {
        #expect(pair.input.waitUntilReady(timeout: .seconds(10)) && pair.input.status == .error)
      }
      pair.input.close()
      #expect(eventually { isOver.value == (isRefused ? 1 : 2) })
      withExtendedLifetime((refused, hole)) {}
    }
    #expect(eventually { openSockets().subtracting(before).isEmpty })
  }
}
