// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Finds one frame at the front of the bytes that have come, whatever the cuts. Goes on where it stopped
// when more bytes come.

/// What a ``FrameScanner`` found.
package enum FrameScan: Equatable, Sendable {
  /// The frame is `content`, in offsets from the first byte; `length` bytes are used up by it.
  case frame(content: Range<Int>, length: Int)
  /// More bytes are needed. `total` is how many the frame and what goes with it take in all, if that is known.
  case more(total: Int?)
  case failed(StreamError.Frame)
}

/// The search for one frame.
package struct FrameScanner: Sendable {
  package let framing: Framing
  /// Bytes before this one have been looked at, and nothing that was looked for begins there.
  private var looked = 0
  /// Where the content of a frame with a length begins and how long it is, once that is known.
  private var content: Range<Int>?

  package init(_ framing: Framing) { self.framing = framing }

  /// How many bytes the frame and what goes with it take in all; 0 if that is not known.
  package var expected: Int {
    if case .bytes(let range) = framing.kind, range.lowerBound == range.upperBound { return range.upperBound }
    guard let content else { return 0 }
    return content.upperBound + (framing.kind == .netstring ? 1 : 0)
  }

  /// Looks at `bytes`, which begin with the frame. `isEnded`: no more will come, as the peer has ended.
  package mutating func scan(_ bytes: ByteQueue, isEnded: Bool) -> FrameScan {
    let found = search(bytes, isEnded: isEnded)
    if case .more = found, isEnded { return .failed(.cut) }
    return found
  }

  private mutating func search(_ bytes: ByteQueue, isEnded: Bool) -> FrameScan {
    switch framing.kind {
    case .bytes(let range):
      guard bytes.count >= range.lowerBound else {
        return .more(total: range.lowerBound == range.upperBound ? range.lowerBound : nil)
      }
      return frame(0..<min(bytes.count, range.upperBound))
    case .through(let delimiter): return searchDelimiter(delimiter, bytes, keepingIt: true)
    case .line(.crlfStrict):
      return lastLine(searchDelimiter([0x0D, 0x0A], bytes, keepingIt: false), bytes, isEnded)
    case .line(.lf): return lastLine(searchDelimiter([0x0A], bytes, keepingIt: false), bytes, isEnded)
    case .line(.crlf): return lastLine(searchLineFeed(bytes), bytes, isEnded)
    case .line(.any): return lastLine(searchAnyEnding(bytes), bytes, isEnded)
    case .lengthPrefixed(let prefix): return readPrefix(prefix, bytes)
    case .netstring: return readNetstring(bytes)
    case .toEnd:
      if bytes.count > framing.limit { return .failed(.tooLong) }
      return isEnded ? frame(0..<bytes.count) : .more(total: nil)
    }
  }

  private func frame(_ content: Range<Int>, ending: Int = 0) -> FrameScan {
    .frame(content: content, length: content.upperBound + ending)
  }

  /// How far a delimiter may begin: behind as many bytes as the limit allows.
  private func bound(_ bytes: ByteQueue, slack: Int = 0) -> Int {
    let (end, overflow) = framing.limit.addingReportingOverflow(1 + slack)
    return overflow ? bytes.count : min(bytes.count, end)
  }

  // MARK: - Delimiters

  private mutating func searchDelimiter(
    _ delimiter: [UInt8], _ bytes: ByteQueue, keepingIt: Bool
  ) -> FrameScan {
    let end = bound(bytes)
    while let start = bytes.offset(of: delimiter[0], from: looked, before: end) {
      looked = start
      if bytes.matches(delimiter, at: start) {
        guard bytes.count >= start + delimiter.count else { return .more(total: nil) }
        let content = keepingIt ? start + delimiter.count : start
        return .frame(content: 0..<content, length: start + delimiter.count)
      }
      looked = start + 1
    }
    looked = max(looked, end)
    return looked > framing.limit ? .failed(.tooLong) : .more(total: nil)
  }

  /// LF, with or without a CR before it that does not count.
  private mutating func searchLineFeed(_ bytes: ByteQueue) -> FrameScan {
    let end = bound(bytes, slack: 1)
    guard let lineFeed = bytes.offset(of: 0x0A, from: looked, before: end) else {
      looked = max(looked, end)
      // One byte over the limit is still right if it turns out to be the CR before an LF.
      let isLong = looked > framing.limit && (looked - 1 > framing.limit || bytes[looked - 1] != 0x0D)
      return isLong ? .failed(.tooLong) : .more(total: nil)
    }
    let hasReturn = lineFeed > 0 && bytes[lineFeed - 1] == 0x0D
    let content = hasReturn ? lineFeed - 1 : lineFeed
    if content > framing.limit { return .failed(.tooLong) }
    return frame(0..<content, ending: lineFeed + 1 - content)
  }

  private mutating func searchAnyEnding(_ bytes: ByteQueue) -> FrameScan {
    let end = bound(bytes)
    while looked < end {
      if bytes[looked] == 0x0A || bytes[looked] == 0x0D { return frame(0..<looked, ending: 1) }
      looked += 1
    }
    return looked > framing.limit ? .failed(.tooLong) : .more(total: nil)
  }

  /// At the end, what there is is a line too.
  private func lastLine(_ found: FrameScan, _ bytes: ByteQueue, _ isEnded: Bool) -> FrameScan {
    guard isEnded, case .more = found, !bytes.isEmpty else { return found }
    return bytes.count > framing.limit ? .failed(.tooLong) : frame(0..<bytes.count)
  }

  // MARK: - Lengths

  private mutating func readPrefix(_ prefix: LengthPrefix, _ bytes: ByteQueue) -> FrameScan {
    if content == nil {
      let width = prefix.width.rawValue
      guard bytes.count >= width else { return .more(total: nil) }
      guard expect(prefix.decode(bytes.bytes.prefix(width)), after: width) else { return .failed(.tooLong) }
    }
    return whole(bytes, ending: 0)
  }

  /// Decimal digits without a needless zero, a colon, the content, a comma.
  private mutating func readNetstring(_ bytes: ByteQueue) -> FrameScan {
    if content == nil {
      var length: UInt64 = 0
      for offset in 0..<bytes.count where content == nil {
        let byte = bytes[offset]
        if byte == UInt8(ascii: ":"), offset > 0 {
          guard expect(length, after: offset + 1) else { return .failed(.tooLong) }
        } else if byte >= 0x30, byte <= 0x39, offset == 0 || length > 0 {
          // A length over the limit stays one, whatever follows; asked first, so that nothing overflows.
          guard length <= UInt64(framing.limit) / 10 else { return .failed(.tooLong) }
          length = length * 10 + UInt64(byte - 0x30)
        } else {
          return .failed(.malformed)
        }
      }
      guard content != nil else { return .more(total: nil) }
    }
    let found = whole(bytes, ending: 1)
    guard case .frame(let content, _) = found else { return found }
    return bytes[content.upperBound] == UInt8(ascii: ",") ? found : .failed(.malformed)
  }

  /// - Returns: Whether `length` is within the limit.
  private mutating func expect(_ length: UInt64, after start: Int) -> Bool {
    // With room for the ending too, so that nothing below overflows.
    guard length <= UInt64(framing.limit), length < UInt64(Int.max - start) else { return false }
    content = start..<start + Int(length)
    return true
  }

  private func whole(_ bytes: ByteQueue, ending: Int) -> FrameScan {
    guard let content else { return .more(total: nil) }
    let total = content.upperBound + ending
    return bytes.count < total ? .more(total: total) : .frame(content: content, length: total)
  }
}
