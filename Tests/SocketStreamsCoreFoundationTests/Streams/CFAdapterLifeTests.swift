// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How long what is behind a stream of CoreFoundation lives: as long as the stream, opened, closed or neither.

import CoreFoundation
import SocketStreams
import Testing

@testable import SocketStreamsCoreFoundation

@Suite struct CFAdapterLifeTests {
  enum Life { case unopened, dropped, closed }

  // S9: let go of once, when the stream goes: after the close, if there was one, and not with it.
  @Test(arguments: [Life.unopened, .dropped, .closed])
  func theAdapterGoesWithItsStream(life: Life) throws {
    let listener = try RawListener()
    weak var reading: ReadStreamAdapter?
    weak var writing: WriteStreamAdapter?
    var peer: RawSocket?
    do {
      let (reader, writer) = makeStreams(to: listener.port, &reading, &writing)
      if life != .unopened {
        CFReadStreamOpen(reader)
        CFWriteStreamOpen(writer)
        peer = listener.accept()
      }
      if life == .closed {
        CFReadStreamClose(reader)
        CFWriteStreamClose(writer)
        #expect(peer?.receiveEnd() == 0)
      }
      #expect(reading != nil && writing != nil)
      withExtendedLifetime((reader, writer)) {}
    }
    // The library's thread may be in its last call for them.
    #expect(eventually { reading == nil && writing == nil })
    if life != .unopened { #expect(peer?.receiveEnd() == 0) }
  }

  private func makeStreams(
    to port: UInt16, _ reading: inout ReadStreamAdapter?, _ writing: inout WriteStreamAdapter?
  ) -> (CFReadStream, CFWriteStream) {
    let pair = StreamPair(host: "127.0.0.1", port: port)
    let socket = SharedSocket(hasReader: true, closesHalf: false)
    let reader = ReadStreamAdapter(pair.input, socket: socket, refusal: nil)
    let writer = WriteStreamAdapter(pair.output, socket: socket, refusal: nil)
    (reading, writing) = (reader, writer)
    return (
      ReadStreamAdapter.makeStream(reader, nil)!.takeRetainedValue(),
      WriteStreamAdapter.makeStream(writer, nil)!.takeRetainedValue()
    )
  }
}
