// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The frames of RFC 6455, as far as a small client needs them.

/// One frame.
struct WebSocketFrame: Equatable {
  enum Kind: UInt8 { case more = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 }

  var isLast = true
  var kind: Kind
  var payload: [UInt8]

  /// As a client sends it: masked.
  func encoded(mask: UInt32 = .random(in: 0 ... .max)) -> [UInt8] {
    var bytes: [UInt8] = [(isLast ? 0x80 : 0) | kind.rawValue]
    switch payload.count {
    case ...125: bytes.append(0x80 | UInt8(payload.count))
    case ...0xFFFF: bytes += [0x80 | 126] + Self.bigEndian(payload.count, byteCount: 2)
    default: bytes += [0x80 | 127] + Self.bigEndian(payload.count, byteCount: 8)
    }
    let key = Self.bigEndian(Int(mask), byteCount: 4)
    return bytes + key + payload.indices.map { payload[$0] ^ key[$0 % 4] }
  }

  /// Takes a frame of a server's from the front of `bytes`; `nil` if it is not all there.
  static func take(from bytes: inout [UInt8]) -> WebSocketFrame? {
    guard bytes.count >= 2, let kind = Kind(rawValue: bytes[0] & 0x0F) else { return nil }
    let (start, length): (Int, Int)
    switch bytes[1] & 0x7F {
    case 126: (start, length) = (4, number(in: bytes, from: 2, byteCount: 2))
    case 127: (start, length) = (10, number(in: bytes, from: 2, byteCount: 8))
    case let short: (start, length) = (2, Int(short))
    }
    guard bytes.count >= start + length else { return nil }
    defer { bytes.removeFirst(start + length) }
    return WebSocketFrame(
      isLast: bytes[0] & 0x80 != 0, kind: kind, payload: Array(bytes[start..<start + length]))
  }

  private static func bigEndian(_ number: Int, byteCount: Int) -> [UInt8] {
    (0..<byteCount).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }

  private static func number(in bytes: [UInt8], from start: Int, byteCount: Int) -> Int {
    bytes.dropFirst(start).prefix(byteCount).reduce(0) { $0 << 8 | Int($1) }
  }
}
