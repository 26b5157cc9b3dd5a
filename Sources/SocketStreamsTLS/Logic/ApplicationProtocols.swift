// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

/// A list of application protocols in ALPN's own form: each name after one byte with its length.
struct ApplicationProtocols: Equatable, Sendable {
  /// The list as it is sent.
  let wire: [UInt8]

  /// The names in their order; `nil` if one has not 1 to 255 bytes, or all of them more than a message has room for.
  init?(_ names: [String]) {
    var wire: [UInt8] = []
    for name in names {
      guard 1...255 ~= name.utf8.count else { return nil }
      wire.append(UInt8(name.utf8.count))
      wire += name.utf8
    }
    guard wire.count <= 65_535 else { return nil }
    self.wire = wire
  }

  /// Where in `offer`, a peer's list, the first of these names is that it has; `nil` if it has none of them. What is
  /// behind a length that `offer` is too short for is no name.
  func choice(from offer: [UInt8]) -> Range<Int>? {
    var position = 0
    while position < wire.count {
      let name = position + 1..<position + 1 + Int(wire[position])
      if let found = Self.place(of: wire[name], in: offer) { return found }
      position = name.upperBound
    }
    return nil
  }

  private static func place(of name: ArraySlice<UInt8>, in offer: [UInt8]) -> Range<Int>? {
    var position = 0
    while position < offer.count {
      let start = position + 1
      let end = start + Int(offer[position])
      guard end <= offer.count else { return nil }
      if name.elementsEqual(offer[start..<end]) { return start..<end }
      position = end
    }
    return nil
  }
}

#endif
