// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a read of a FramedReader is to bring. How it is found in the bytes is in Logic/FrameScanner.swift.

/// What one read of a ``FramedReader`` is to bring.
///
/// A limit counts the bytes of the content, without the delimiter, line ending or length that goes with it: a frame of
/// exactly that many bytes passes, and one of a byte more fails with ``StreamError/Frame/tooLong``, however the bytes
/// were cut up on their way. Counts and limits are 0 or more.
public struct Framing: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    case bytes(ClosedRange<Int>)
    case through([UInt8])
    case line(LineEnding)
    case lengthPrefixed(LengthPrefix)
    case netstring
    case toEnd
  }

  let kind: Kind
  let limit: Int

  private init(_ kind: Kind, limit: Int = .max) {
    precondition(limit >= 0, "a framing's limit is negative")
    (self.kind, self.limit) = (kind, limit)
  }

  /// What is there: 1 to `maximum` bytes, as soon as there are any. The maximum is 1 or more.
  public static func available(upTo maximum: Int = 65_536) -> Framing {
    precondition(maximum >= 1, "a framing's maximum is less than 1")
    return bytes(1...maximum)
  }

  /// Exactly `count` bytes. None are brought at once.
  ///
  /// Nothing limits `count`: one that a peer has named is to be checked first.
  public static func exactly(_ count: Int) -> Framing { bytes(count...count) }

  /// As many bytes as are there, up to the upper bound, as soon as there are as many as the lower bound.
  public static func bytes(_ range: ClosedRange<Int>) -> Framing {
    precondition(range.lowerBound >= 0, "a framing's count is negative")
    return Framing(.bytes(range))
  }

  /// Everything up to `delimiter`, which is not empty, and the delimiter itself.
  public static func through(_ delimiter: [UInt8], limit: Int = 65_536) -> Framing {
    precondition(!delimiter.isEmpty, "a framing's delimiter is empty")
    return Framing(.through(delimiter), limit: limit)
  }

  /// A line, without its ending. What stands behind the last ending when the peer ends is a line too, unless it is
  /// empty.
  public static func line(_ ending: LineEnding = .crlf, limit: Int = 65_536) -> Framing {
    Framing(.line(ending), limit: limit)
  }

  /// A frame whose length stands before it, without that length.
  public static func lengthPrefixed(
    _ width: LengthPrefix.Width, order: LengthPrefix.Order = .bigEndian, limit: Int = 65_536
  ) -> Framing {
    Framing(.lengthPrefixed(LengthPrefix(width, order)), limit: limit)
  }

  /// A netstring, `5:hello,`: its content alone. Anything else fails with ``StreamError/Frame/malformed``.
  public static func netstring(limit: Int = 65_536) -> Framing { Framing(.netstring, limit: limit) }

  /// Everything until the peer ends, which may be nothing.
  public static func toEnd(limit: Int = .max) -> Framing { Framing(.toEnd, limit: limit) }
}

/// What ends a line.
public enum LineEnding: Hashable, Sendable, CaseIterable {
  /// CR LF, LF, or CR. A line that ends with CR is brought at once; an LF that comes next is dropped.
  case any
  /// LF, with or without a CR before it. As libevent's `EVBUFFER_EOL_CRLF`.
  case crlf
  /// CR LF only. As libevent's `EVBUFFER_EOL_CRLF_STRICT`.
  case crlfStrict
  /// LF only; a CR before it belongs to the line. As libevent's `EVBUFFER_EOL_LF`.
  case lf
}

/// How the length before a frame is written.
public struct LengthPrefix: Hashable, Sendable {
  /// How many bytes an unsigned length takes.
  public enum Width: Int, Hashable, Sendable, CaseIterable {
    /// One byte, up to 255.
    case oneByte = 1
    /// Two bytes, up to 65,535.
    case twoBytes = 2
    /// Four bytes.
    case fourBytes = 4
    /// Eight bytes.
    case eightBytes = 8
  }

  /// Which byte comes first.
  public enum Order: Hashable, Sendable, CaseIterable {
    /// The most significant one, as in network protocols.
    case bigEndian
    /// The least significant one.
    case littleEndian
  }

  /// How many bytes it takes.
  public let width: Width
  /// Which of them comes first.
  public let order: Order

  /// Describes a length.
  public init(_ width: Width, _ order: Order = .bigEndian) { (self.width, self.order) = (width, order) }

  /// The bytes that say `length`; `nil` if they cannot.
  public func encode(_ length: Int) -> [UInt8]? {
    guard let value = UInt64(exactly: length) else { return nil }
    let bits = width.rawValue * 8
    guard bits == 64 || value >> UInt64(bits) == 0 else { return nil }
    let bytes = (0..<width.rawValue).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
    return order == .littleEndian ? bytes : bytes.reversed()
  }

  /// What `bytes`, as many as the width, say.
  func decode(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    func appending(_ value: UInt64, _ byte: UInt8) -> UInt64 { value << 8 | UInt64(byte) }
    return order == .bigEndian ? bytes.reduce(0, appending) : bytes.reversed().reduce(0, appending)
  }
}
