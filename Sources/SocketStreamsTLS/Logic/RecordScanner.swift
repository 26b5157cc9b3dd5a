// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// OpenSSL takes what has come in one read of the wire, and what is behind the peer's close_notify with it: plain bytes, if
// TLS is taken off, that nobody gets out of it again. This finds the places that OpenSSL may read up to.

#if TLS

/// Follows the records in what comes from a wire.
struct RecordScanner: Equatable, Sendable {
  /// How many bytes of a record's header have passed.
  private var headerCount = 0
  private var kind: UInt8 = 0
  private var length = 0
  /// How many bytes of a record's body have not passed yet.
  private var missing = 0

  private static let headerLength = 5
  private static let alert: UInt8 = 21
  private static let data: UInt8 = 23
  /// Two bytes of an alert, one for its kind, and a tag: what TLS 1.3 makes of close_notify, which looks like data there.
  private static let longestNotice = 2 + 1 + 16

  /// Goes on with `bytes`, which are behind those that have passed.
  /// - Returns: How many of them may pass now; of one or more at least one, since whoever asks for bytes has met no
  ///   close_notify. The rest is to be offered again if more is asked for.
  mutating func pass(_ bytes: Span<UInt8>) -> Int {
    var position = 0
    while position < bytes.count {
      if headerCount < Self.headerLength {
        takeHeader(bytes[position])
        position += 1
      } else {
        let step = min(missing, bytes.count - position)
        missing -= step
        position += step
      }
      guard headerCount == Self.headerLength, missing == 0 else { continue }
      headerCount = 0
      if mayBeNotice || !mayBegin(bytes, at: position) { break }
    }
    return position
  }

  private mutating func takeHeader(_ byte: UInt8) {
    switch headerCount {
    case 0: kind = byte
    case 3: length = Int(byte) << 8
    case 4:
      length |= Int(byte)
      missing = length
    default: break
    }
    headerCount += 1
  }

  /// Whether the record that has just passed can be a close_notify without padding.
  private var mayBeNotice: Bool { kind == Self.alert || kind == Self.data && length <= Self.longestNotice }

  /// Whether a record may begin there. A close_notify of TLS 1.3 can be padded to any length, which few do: it is known by
  /// what is behind it.
  private func mayBegin(_ bytes: Span<UInt8>, at position: Int) -> Bool {
    guard position < bytes.count else { return true }
    guard 20...Self.data ~= bytes[position] else { return false }
    return position + 1 == bytes.count || bytes[position + 1] == 3
  }
}

#endif
