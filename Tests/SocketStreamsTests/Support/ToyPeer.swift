// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The other side of a toy's connection, by hand: it says what it is told to, byte for byte, and in one piece.
import SocketStreams

/// A pair that is secured by a toy, and its peer. No assertions.
struct ToyLink {
  let pair: StreamPair
  let peer: RawSocket

  /// What a toy says first, and last.
  static let hello = Array("TOYHELLO".utf8)
  static let end: [UInt8] = [2, 0, 0]

  /// A record of bytes.
  static func record(_ bytes: [UInt8]) -> [UInt8] {
    [1, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)] + bytes.map { $0 ^ 0x5a }
  }

  /// - Parameter isAgreed: Whether the handshake is to be done.
  init(_ transport: ConnectionOptions.Transport = .direct, isAgreed: Bool = true) throws {
    var options = ConnectionOptions()
    options.transport = transport
    options.sendBufferSize = 8_192
    let link = try TCPLink(options)
    (pair, peer) = (link.pair, link.peer)
    try pair.secure(with: ToySettings())
    guard isAgreed else { return }
    peer.send(Self.hello)
    guard peer.receive(8) == Self.hello, pair.output.waitUntilReady(timeout: .seconds(5)) else {
      throw RawFailure("handshake")
    }
  }

  /// Receives `count` bytes in records, or fewer if something else comes.
  func receiveRecords(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count, case let head = peer.receive(3), head.count == 3, head[0] == 1 {
      bytes += peer.receive(Int(head[1]) << 8 | Int(head[2])).map { $0 ^ 0x5a }
    }
    return bytes
  }
}
