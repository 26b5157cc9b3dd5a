// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a frame queue has to answer, said a second time: without a memory of what was looked at, and without care for
// speed.

/// The rules of one framing, applied to all bytes there are.
struct ReferenceScan {
  let bytes: [UInt8]
  let isEnded: Bool
  let framing: Framing

  func scan() -> FrameScan {
    let found = search()
    if isEnded, case .more = found { return isLine && !bytes.isEmpty ? lastLine() : .failed(.cut) }
    return found
  }

  private var limit: Int { framing.limit }
  private var isOver: Bool { bytes.count > limit }
  private var isLine: Bool { if case .line = framing.kind { true } else { false } }

  private func lastLine() -> FrameScan { isOver ? .failed(.tooLong) : frame(bytes.count) }

  private func search() -> FrameScan {
    switch framing.kind {
    case .bytes(let range):
      let isExact = range.lowerBound == range.upperBound
      guard bytes.count >= range.lowerBound else { return .more(total: isExact ? range.lowerBound : nil) }
      return frame(min(bytes.count, range.upperBound))
    case .through(let delimiter): return delimited(delimiter, keeps: true)
    case .line(.lf): return delimited([0x0A], keeps: false)
    case .line(.crlfStrict): return delimited([0x0D, 0x0A], keeps: false)
    case .line(.crlf): return lineFeed()
    case .line(.any):
      guard let end = bytes.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) else { return missing() }
      return end > limit ? .failed(.tooLong) : frame(end, 1)
    case .lengthPrefixed(let prefix): return prefixed(prefix)
    case .netstring: return netstring()
    case .toEnd:
      if isOver { return .failed(.tooLong) }
      return isEnded ? frame(bytes.count) : .more(total: nil)
    }
  }

  private func frame(_ count: Int, _ ending: Int = 0, after start: Int = 0) -> FrameScan {
    .frame(content: start..<start + count, length: start + count + ending)
  }

  private func missing() -> FrameScan { isOver ? .failed(.tooLong) : .more(total: nil) }

  private func delimited(_ delimiter: [UInt8], keeps: Bool) -> FrameScan {
    // Where it begins, or could begin if more came.
    let start = bytes.indices.first {
      let rest = bytes[$0...].prefix(delimiter.count)
      return rest.elementsEqual(delimiter.prefix(rest.count))
    }
    guard let start, start <= limit else { return missing() }
    guard bytes.count - start >= delimiter.count else { return .more(total: nil) }
    return keeps ? frame(start + delimiter.count) : frame(start, delimiter.count)
  }

  private func lineFeed() -> FrameScan {
    guard let end = bytes.firstIndex(of: 0x0A) else {
      let mayBeReturn = bytes.count - 1 == limit && bytes.last == 0x0D
      return mayBeReturn ? .more(total: nil) : missing()
    }
    let count = end > 0 && bytes[end - 1] == 0x0D ? end - 1 : end
    return count > limit ? .failed(.tooLong) : frame(count, end + 1 - count)
  }

  private func prefixed(_ prefix: LengthPrefix) -> FrameScan {
    let width = prefix.width.rawValue
    guard bytes.count >= width else { return .more(total: nil) }
    let digits = prefix.order == .bigEndian ? Array(bytes[..<width]) : bytes[..<width].reversed()
    let length = digits.reduce(UInt64(0)) { $0 << 8 + UInt64($1) }
    return counted(length, after: width, ending: 0)
  }

  private func netstring() -> FrameScan {
    var length: UInt64 = 0
    for (offset, byte) in bytes.enumerated() {
      if byte == UInt8(ascii: ":"), offset > 0 {
        let found = counted(length, after: offset + 1, ending: 1)
        guard case .frame(let content, _) = found else { return found }
        return bytes[content.upperBound] == UInt8(ascii: ",") ? found : .failed(.malformed)
      }
      let isNeedless = offset > 0 && length == 0
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"), !isNeedless else {
        return .failed(.malformed)
      }
      guard length <= UInt64(limit) / 10 else { return .failed(.tooLong) }
      length = length * 10 + UInt64(byte & 15)
    }
    return .more(total: nil)
  }

  private func counted(_ length: UInt64, after start: Int, ending: Int) -> FrameScan {
    guard length <= UInt64(limit), length < UInt64(Int.max - start) else { return .failed(.tooLong) }
    let total = start + Int(length) + ending
    return bytes.count < total ? .more(total: total) : frame(Int(length), ending, after: start)
  }
}

/// A queue by the reference.
struct FrameModel {
  private enum Source: Equatable { case open, ended, failed(StreamError), done }

  /// The bytes, and `nil` at the place where an LF that comes next is no byte: behind a CR that ended a line.
  private var tokens: [UInt8?] = []
  private var reads: [(framing: Framing, target: [UInt8], tag: Int)] = []
  private var failing: (error: StreamError, count: Int)?
  private var source = Source.open
  private var hasToldSource = false

  var bytes: [UInt8] { tokens.compactMap(\.self) }
  var readCount: Int { reads.count }

  mutating func enqueue(_ framing: Framing, _ target: [UInt8], _ tag: Int) {
    reads.append((framing, target, tag))
  }

  mutating func arrived(_ more: [UInt8]) {
    tokens += more
    dropLineFeed()
  }

  mutating func pushedBack(_ pushed: [UInt8]) { tokens = pushed + tokens }

  mutating func takeUnread() -> [UInt8] {
    defer { tokens = tokens.filter { $0 == nil } }
    return bytes
  }

  private mutating func dropLineFeed() {
    guard let place = tokens.firstIndex(of: nil), place + 1 < tokens.count else { return }
    tokens.removeSubrange(place..<(tokens[place + 1] == 0x0A ? place + 2 : place + 1))
  }

  mutating func ended() { if source == .open { source = .ended } }
  mutating func failed(_ error: StreamError) { if source == .open { source = .failed(error) } }
  mutating func givenUp(_ error: StreamError) { failing = (error, reads.count) }

  /// What the queue has to answer. Of a `.read` only that it asks for something is known.
  mutating func next() -> FrameQueue.Step {
    if let failing, failing.count > 0 {
      self.failing?.count -= 1
      return .failed(failing.error, tag: reads.removeFirst().tag)
    }
    guard let read = reads.first else { return end() }
    let bytes = bytes
    switch ReferenceScan(bytes: bytes, isEnded: source == .ended, framing: read.framing).scan() {
    case .frame(let content, let length):
      if source == .ended, bytes.isEmpty, case .toEnd = read.framing.kind {
        if hasToldSource { return over() }
        hasToldSource = true
      }
      let frame = read.target + bytes[content]
      let endsWithReturn = length > content.upperBound && bytes[content.upperBound] == 0x0D
      tokens.removeFirst(length)
      reads.removeFirst()
      if case .line(.any) = read.framing.kind, endsWithReturn, tokens.first != .some(nil) {
        tokens.insert(nil, at: 0)
        dropLineFeed()
      }
      return .frame(frame, tag: read.tag)
    case .failed(let code):
      if code == .cut {
        if hasToldSource { return over() }
        hasToldSource = true
      }
      failing = (.frame(code, "read"), reads.count)
    case .more:
      guard case .failed(let error) = source else { return .read(atMost: .max) }
      if hasToldSource { return over() }
      hasToldSource = true
      failing = (error, reads.count)
    }
    return next()
  }

  private mutating func end() -> FrameQueue.Step {
    bytes.isEmpty || hasToldSource ? over() : .idle
  }

  private mutating func over() -> FrameQueue.Step {
    defer { if source != .open { source = .done } }
    switch source {
    case .open, .done: return .idle
    case .ended: return .ended(nil)
    case .failed(let error): return .ended(error)
    }
  }
}
