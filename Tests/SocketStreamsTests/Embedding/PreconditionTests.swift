// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("What only a wrong program can do ends it", .timeLimit(.minutes(2)))
struct PreconditionTests {
  // Style guide, point 11.
  @Test("a bound pair without room")
  func noRoom() async {
    await #expect(processExitsWith: .failure) { _ = StreamPair.bound(bufferSize: 0) }
  }

  // Style guide, point 11.
  @Test("a read of no bytes into a buffer of its own")
  func emptyRead() async {
    await #expect(processExitsWith: .failure) {
      let pair = StreamPair.bound()
      pair.open()
      _ = try pair.input.read(upTo: 0)
    }
  }

  // Style guide, point 11.
  @Test("using up more than was lent, or less than nothing")
  func usesTooMuch() async {
    await #expect(processExitsWith: .failure) {
      let pair = StreamPair.bound()
      pair.open()
      try pair.output.write([1, 2])
      pair.input.withAvailableBytes { $0.byteCount + 1 }
    }
    await #expect(processExitsWith: .failure) {
      let pair = StreamPair.bound()
      pair.open()
      try pair.output.write([1, 2])
      pair.input.withAvailableBytes { _ in -1 }
    }
  }
}
