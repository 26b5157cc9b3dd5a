// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Connected streams over each transport, for tests of rules that hold whatever carries the bytes.

import SocketStreams
import Testing

/// What carries the bytes of a pair under test.
enum Carrier: CaseIterable, CustomTestStringConvertible {
  /// A socket, read and written directly.
  case direct
  /// A socket behind a whole bufferevent, which stays on the loop where it was made.
  case bufferevent
  /// Memory: the pair is its own peer.
  case bound

  var testDescription: String { "\(self)" }

  /// Makes a connection. Of `near`, both halves are open; `far` is not opened yet, or `near` itself.
  func connect() throws -> Link {
    switch self {
    case .bound:
      let pair = StreamPair.bound()
      pair.open()
      return Link(near: pair, far: pair, keeper: nil)
    case .direct:
      let (near, far) = try StreamPair.connected()
      near.open()
      return Link(near: near, far: far, keeper: nil)
    case .bufferevent:
      let listener = try Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
      let base = try EventBase.startThread(named: "accept")
      let accepted = Shared<StreamPair?>(nil)
      let arrived = Signal()
      listener.schedule(on: base) { pair, _ in
        accepted.with { $0 = pair }
        arrived.raise()
      }
      var options = ConnectionOptions()
      options.transport = .bufferevent
      let near = StreamPair(address: listener.localAddress, options: options)
      near.open()
      guard arrived.wait(seconds: 20), let far = accepted.value else { throw RawFailure("accept") }
      return Link(near: near, far: far, keeper: listener)
    }
  }
}

/// Two ends of one connection.
struct Link: Sendable {
  let near: StreamPair
  let far: StreamPair
  /// What has to live as long as the connection.
  let keeper: Listener?
}

/// The bytes that tests send: any piece of them tells where it belongs.
enum Pattern {
  private static let period = 65_521
  /// The most bytes that can be asked for at once.
  static let longest = 65_536
  private static let table: [UInt8] = {
    var generator = Randoms(seed: 88_172_645)
    let once = (0..<period).map { _ in UInt8.random(in: 0...255, using: &generator) }
    return once + (0..<longest).map { once[$0 % period] }
  }()

  static func bytes(at offset: Int, _ count: Int) -> ArraySlice<UInt8> {
    let start = offset % period
    return table[start..<start + count]
  }

  static func matches(_ bytes: ArraySlice<UInt8>, at offset: Int) -> Bool {
    bytes.elementsEqual(self.bytes(at: offset, bytes.count))
  }

  static func matches(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
    bytes.count <= longest && self.bytes(at: offset, bytes.count).withUnsafeBytes { $0.elementsEqual(bytes) }
  }
}

/// Random numbers that a seed repeats (SplitMix64).
struct Randoms: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// Counts the objects that a test hands to the library and that have not ended.
final class Tokens: Sendable {
  private let live = Shared(0)

  var count: Int { live.value }

  func make() -> Token {
    live.with { $0 += 1 }
    return Token(self)
  }

  final class Token: Sendable {
    private let owner: Tokens
    fileprivate init(_ owner: Tokens) { self.owner = owner }
    deinit { owner.live.with { $0 -= 1 } }
  }
}
