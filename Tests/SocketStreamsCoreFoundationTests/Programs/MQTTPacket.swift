// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The packets of MQTT 3.1.1, as far as a small client needs them.

/// One packet.
struct MQTTPacket: Equatable {
  enum Kind: UInt8 {
    case connect = 1, connectAnswer, publish, publishAnswer
    case subscribe = 8, subscribeAnswer
    case ping = 12, pong, disconnect
  }

  var kind: Kind
  var flags: UInt8 = 0
  var body: [UInt8] = []

  static func connect(id: String) -> MQTTPacket {
    // Level 4, a clean session, pings at least every 60 s.
    MQTTPacket(kind: .connect, body: field("MQTT") + [4, 2] + number(60) + field(id))
  }

  static func subscribe(_ topic: String, quality: UInt8, id: UInt16) -> MQTTPacket {
    MQTTPacket(kind: .subscribe, flags: 2, body: number(id) + field(topic) + [quality])
  }

  /// - Parameter id: For quality 1, what the answer names; `nil` for quality 0.
  static func publish(_ topic: String, _ payload: [UInt8], id: UInt16?) -> MQTTPacket {
    MQTTPacket(
      kind: .publish, flags: id == nil ? 0 : 2, body: field(topic) + (id.map(number) ?? []) + payload)
  }

  static func publishAnswer(id: UInt16) -> MQTTPacket { MQTTPacket(kind: .publishAnswer, body: number(id)) }

  /// What a packet of the kind `publish` carries; `nil` if it is cut.
  var message: (topic: String, payload: [UInt8], id: UInt16?)? {
    guard body.count >= 2 else { return nil }
    var rest = body.dropFirst(2)
    let topic = rest.prefix(Int(Self.number(in: body)))
    rest = rest.dropFirst(topic.count)
    var id: UInt16?
    if flags & 6 != 0 {
      guard rest.count >= 2 else { return nil }
      id = Self.number(in: rest)
      rest = rest.dropFirst(2)
    }
    return (String(decoding: topic, as: UTF8.self), Array(rest), id)
  }

  /// The number that answers begin with.
  var id: UInt16 { Self.number(in: body) }

  var encoded: [UInt8] {
    var bytes = [kind.rawValue << 4 | flags]
    var length = body.count
    repeat {
      bytes.append(UInt8(length & 0x7F) | (length > 0x7F ? 0x80 : 0))
      length >>= 7
    } while length > 0
    return bytes + body
  }

  /// Takes a packet from the front of `bytes`; `nil` if it is not all there.
  static func take(from bytes: inout [UInt8]) -> MQTTPacket? {
    guard let first = bytes.first, let kind = Kind(rawValue: first >> 4) else { return nil }
    var (length, index) = (0, 1)
    while true {
      guard index < bytes.count, index <= 4 else { return nil }
      length |= Int(bytes[index] & 0x7F) << (7 * (index - 1))
      index += 1
      if bytes[index - 1] & 0x80 == 0 { break }
    }
    guard bytes.count >= index + length else { return nil }
    defer { bytes.removeFirst(index + length) }
    return MQTTPacket(kind: kind, flags: first & 0x0F, body: Array(bytes[index..<index + length]))
  }

  private static func field(_ text: String) -> [UInt8] { number(UInt16(text.utf8.count)) + Array(text.utf8) }
  private static func number(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }
  private static func number(in bytes: some Collection<UInt8>) -> UInt16 {
    bytes.prefix(2).reduce(0) { $0 << 8 | UInt16($1) }
  }
}
