// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Every kind of pair behind one face, so that one suite holds the rules that no transport may break. A fixture is a
// pair, a base, and a peer that shares as little code with the pair as its transport allows.
import Glibc
import SocketStreams
import Testing

/// What carries a pair's bytes.
enum TransportUnderTest: String, Sendable, CaseIterable, CustomTestStringConvertible {
  /// Two pairs on a socket pair of the kernel; the peer is the other pair, used blocking.
  case socketPair
  /// TCP on loopback; the peer is a plain socket.
  case tcp
  /// TCP on loopback by way of a bufferevent; the peer is a plain socket.
  case bufferevent
  /// In memory; the peer is the pair's own other half.
  case bound
  /// In memory; the peer is a script.
  case scripted
  /// Two pairs on a socket pair of the kernel, both secured; the peer is the other pair, used blocking.
  case secured

  var testDescription: String { rawValue }

  /// The kinds whose two halves are both the test's.
  static let pairs: [Self] = [.socketPair, .tcp, .bufferevent, .scripted, .secured]
  /// The kinds whose peer can break the connection.
  static let breakable: [Self] = [.tcp, .bufferevent, .scripted]
  /// The kinds with a descriptor.
  static let sockets: [Self] = [.socketPair, .tcp, .bufferevent, .secured]
}

/// The other side of a pair.
protocol TestPeer: AnyObject, Sendable {
  /// What arrives at the pair.
  func send(_ bytes: [UInt8])
  /// The end of it.
  func end()
  /// The connection breaks, behind what was sent.
  func fail()
  /// What the pair sent: waits for `count` bytes, 5 seconds at most.
  func receive(_ count: Int) -> [UInt8]
  /// Waits for the pair's end; the bytes before it, or `nil` if it does not come.
  func receiveToEnd() -> [UInt8]?
  /// Takes no more bytes until it is asked for some.
  func stopTaking()
}

/// A pair, its peer, and a base with a thread. The test decides what is opened and scheduled.
final class Fixture: @unchecked Sendable {
  // A test uses it from one thread.
  let kind: TransportUnderTest
  let base: EventBase
  let peer: any TestPeer
  let recorder = EventRecorder()
  let leaks = LeakCheck()
  private var held: StreamPair?

  var input: ReadStream { held!.input }
  var output: WriteStream { held!.output }
  var pair: StreamPair { held! }

  init(_ kind: TransportUnderTest, opensAtOnce: Bool = true) throws {
    self.kind = kind
    base = try EventBase.startThread(named: "test")
    switch kind {
    case .socketPair, .secured:
      let (mine, other) = try StreamPair.connected()
      if kind == .secured {
        try mine.secure(with: ToySettings())
        try other.secure(with: ToySettings())
      }
      mine.output.setProperty(.sendBufferSize, to: 65_536)
      held = mine
      peer = PairPeer(other)
    case .tcp, .bufferevent:
      let listener = try RawListener()
      var size: Int32 = 65_536
      setsockopt(listener.fd, SOL_SOCKET, SO_RCVBUF, &size, 4)
      var options = ConnectionOptions()
      options.transport = kind == .tcp ? .direct : .bufferevent
      options.sendBufferSize = size
      held = StreamPair(address: SocketAddress(ip: "127.0.0.1", port: listener.port)!, options: options)
      peer = SocketPeer(listener)
    case .bound:
      let pair = StreamPair.bound()
      held = pair
      peer = BoundPeer(pair)
    case .scripted:
      let (pair, script) = StreamPair.scripted(opensAtOnce: opensAtOnce)
      held = pair
      peer = ScriptPeer(script)
    }
  }

  /// Ends what is left: the pair, and the base with its thread.
  deinit {
    held = nil
    base.stop()
  }

  /// Gives up the fixture's own references to the streams.
  func dropPair() { held = nil }

  /// Opens streams, and waits until they are.
  func open(_ streams: SocketStream..., location: SourceLocation = #_sourceLocation) {
    for stream in streams {
      let isOpening = stream.open()
      #expect(isOpening, sourceLocation: location)
    }
    // On a base that runs already, a client may have closed its stream by now.
    let isOpen = eventually(within: 5) { streams.allSatisfy { $0.status == .open || $0.status == .closed } }
    #expect(isOpen, "status \(streams.map(\.status))", sourceLocation: location)
    (peer as? SocketPeer)?.accept()
  }

  /// Records the read stream's events, schedules and opens it.
  func startReading(
    _ mask: StreamEvents = .all, location: SourceLocation = #_sourceLocation,
    then action: @escaping @Sendable (ReadStream, StreamEvent) -> Void = { _, _ in }
  ) {
    recorder.attach(to: input, mask, then: action)
    input.schedule(on: base)
    open(input, location: location)
  }

  /// Records the write stream's events, schedules and opens it.
  func startWriting(
    _ mask: StreamEvents = .all, location: SourceLocation = #_sourceLocation,
    then action: @escaping @Sendable (WriteStream, StreamEvent) -> Void = { _, _ in }
  ) {
    recorder.attach(to: output, mask, then: action)
    output.schedule(on: base)
    open(output, location: location)
  }

  /// Lets the loops at work here pass a few times.
  func settle() {
    base.settle()
    // The bufferevent of a stream that is scheduled nowhere, and what finishes after a close, are on the shared base.
    base.settle()
  }

  /// Writes until nothing is taken any more.
  /// - Returns: What was taken.
  func fill(location: SourceLocation = #_sourceLocation) throws -> [UInt8] {
    peer.stopTaking()
    var taken: [UInt8] = []
    // A bufferevent takes bytes from the queue later, on its loop: full is only what stays so.
    let patience: Duration = kind == .bufferevent ? .milliseconds(300) : .milliseconds(50)
    while output.waitUntilReady(timeout: patience) {
      let piece = pattern(16_384, from: taken.count)
      guard let count = try output.write(piece) else { continue }
      taken += piece.prefix(count)
      try #require(taken.count < 64_000_000, "the stream takes without end", sourceLocation: location)
    }
    return taken
  }

  /// Reads until the end, a failure, or 5 seconds without bytes; without a loop.
  func readAll() throws -> [UInt8] {
    var bytes: [UInt8] = []
    while input.waitUntilReady(timeout: .seconds(5)) {
      guard let piece = try readSome(input, 4_096), !piece.isEmpty else { break }
      bytes += piece
    }
    return bytes
  }
}

/// At most `count` bytes that are there now: `nil` for none yet, empty at the end.
func readSome(_ stream: ReadStream, _ count: Int) throws(StreamError) -> [UInt8]? {
  guard let buffer = try stream.read(upTo: count) else { return nil }
  return buffer.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
}

/// Bytes that tell their place.
func pattern(_ count: Int, from start: Int = 0) -> [UInt8] {
  (start..<start + count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
}

// MARK: - Peers

/// The other pair, used blocking, on no base.
private final class PairPeer: TestPeer, @unchecked Sendable {
  // A test uses it from one thread.
  private let pair: StreamPair

  init(_ pair: StreamPair) {
    self.pair = pair
    pair.open()
  }

  func send(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty, pair.output.waitUntilReady(timeout: .seconds(5)) {
      guard let count = try? pair.output.write(Array(rest)) else { return }
      rest = rest.dropFirst(count)
    }
    _ = try? pair.output.flush(timeout: .seconds(5))
  }

  func end() { pair.output.close() }
  func fail() { pair.abort() }

  func receive(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count, pair.input.waitUntilReady(timeout: .seconds(5)) {
      guard let piece = try? readSome(pair.input, min(count - bytes.count, 65_536)), !piece.isEmpty else {
        break
      }
      bytes += piece
    }
    return bytes
  }

  func receiveToEnd() -> [UInt8]? {
    let bytes = receive(.max)
    return pair.input.status == .atEnd ? bytes : nil
  }

  func stopTaking() {}
}

/// A plain socket.
final class SocketPeer: TestPeer, @unchecked Sendable {
  // A test uses it from one thread.
  private let listener: RawListener
  private var accepted: RawSocket?

  init(_ listener: RawListener) { self.listener = listener }

  func accept() { if accepted == nil { accepted = listener.accept(seconds: 5) } }

  private var socket: RawSocket? {
    accept()
    return accepted
  }

  func send(_ bytes: [UInt8]) { socket?.send(bytes) }
  func end() { socket?.shutdownWrite() }
  func fail() { socket?.reset() }
  func receive(_ count: Int) -> [UInt8] { socket?.receive(count, seconds: 5) ?? [] }
  func receiveToEnd() -> [UInt8]? { socket?.receiveAll(seconds: 5) }
  func stopTaking() {}
}

/// The pair's other half.
private final class BoundPeer: TestPeer, @unchecked Sendable {
  // The pair is held by the fixture; a test uses one half and the peer the other, opened when it is first used.
  private let writer: () -> WriteStream?
  private let reader: () -> ReadStream?

  init(_ pair: StreamPair) {
    writer = { [weak output = pair.output] in output }
    reader = { [weak input = pair.input] in input }
  }

  func send(_ bytes: [UInt8]) {
    guard let writer = writer() else { return }
    writer.open()
    var rest = bytes[...]
    while !rest.isEmpty, writer.waitUntilReady(timeout: .seconds(5)) {
      guard let count = try? writer.write(Array(rest)) else { return }
      rest = rest.dropFirst(count)
    }
  }

  func end() {
    writer()?.open()
    writer()?.close()
  }

  func fail() {}

  func receive(_ count: Int) -> [UInt8] {
    guard let reader = reader() else { return [] }
    reader.open()
    var bytes: [UInt8] = []
    while bytes.count < count, reader.waitUntilReady(timeout: .seconds(5)) {
      guard let piece = try? readSome(reader, min(count - bytes.count, 65_536)), !piece.isEmpty else { break }
      bytes += piece
    }
    return bytes
  }

  func receiveToEnd() -> [UInt8]? {
    let bytes = receive(.max)
    return reader()?.status == .atEnd ? bytes : nil
  }

  func stopTaking() {}
}

/// A script.
final class ScriptPeer: TestPeer, @unchecked Sendable {
  // A test uses it from one thread.
  let script: ScriptedPeer
  private var seen = 0

  init(_ script: ScriptedPeer) { self.script = script }

  func send(_ bytes: [UInt8]) { script.send(bytes) }
  func end() { script.end() }
  func fail() { script.fail(ECONNRESET) }

  func receive(_ count: Int) -> [UInt8] {
    script.accept(.max)
    _ = eventually(within: 5) { script.received.count - seen >= count }
    defer { seen = min(seen + count, script.received.count) }
    return Array(script.received[seen...].prefix(count))
  }

  func receiveToEnd() -> [UInt8]? {
    script.accept(.max)
    guard eventually(within: 5, { script.hasSeenEnd }) else { return nil }
    defer { seen = script.received.count }
    return Array(script.received[seen...])
  }

  func stopTaking() { script.accept(0) }
}
