// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Fuzzes the queue of framed reads: its answers are those of the model, step by step, and those to the same reads and
// bytes in other cuts. Nothing may trap, and no byte be lost.
//
// The input is a script, of bytes that each choose something: see `Script`.

/// The bytes of an input, read one after the other; 0 when they are used up.
struct Script {
  private var rest: ArraySlice<UInt8>

  init(_ input: [UInt8]) { rest = input[...] }

  var isEmpty: Bool { rest.isEmpty }

  mutating func byte() -> Int { Int(rest.popFirst() ?? 0) }

  mutating func bytes(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// Any framing. Limits are small, so that they are met.
  mutating func framing() -> Framing {
    let (kind, value) = (byte(), byte())
    let limit = kind & 0x80 == 0 ? value & 31 : [Int.max, Int.max - 1, 65_536, value][kind >> 5 & 3]
    switch kind & 15 {
    case 0: return .exactly(value)
    case 1: return .bytes(min(value, 3)...max(value, 3))
    case 2: return .available(upTo: max(value, 1))
    case 3: return .through(delimiter(), limit: limit)
    case 4: return .line(.any, limit: limit)
    case 5: return .line(.crlf, limit: limit)
    case 6: return .line(.crlfStrict, limit: limit)
    case 7: return .line(.lf, limit: limit)
    case 8: return .lengthPrefixed(.oneByte, limit: limit)
    case 9: return .lengthPrefixed(.twoBytes, order: .littleEndian, limit: limit)
    case 10: return .lengthPrefixed(.fourBytes, limit: limit)
    case 11: return .lengthPrefixed(.eightBytes, order: .littleEndian, limit: limit)
    case 12: return .lengthPrefixed(.eightBytes, limit: limit)
    case 13, 14: return .netstring(limit: limit)
    default: return .toEnd(limit: limit)
    }
  }

  /// One to four bytes, of few kinds, so that they overlap themselves and one another.
  private mutating func delimiter() -> [UInt8] {
    let choice = byte()
    return (0...choice & 3).map { [0x0A, 0x0D, 0x61, 0x62][choice >> (2 + $0) & 3] }
  }
}

/// A queue and its model, which hear the same.
struct FrameTrial {
  private var queue: FrameQueue
  private var model = FrameModel()
  private var tag = 0

  init(reportsPartial: Bool) { queue = FrameQueue(reportsPartial: reportsPartial) }

  mutating func step(_ script: inout Script) {
    let choice = script.byte()
    switch choice & 7 {
    case 0, 1, 2: arrive(script.bytes(choice >> 3))
    case 3, 4: read(script.framing(), appendingTo: choice & 0x80 == 0 ? [] : [1, 2])
    case 5:
      let bytes = script.bytes(choice >> 5)
      queue.pushedBack(bytes)
      model.pushedBack(bytes)
    case 6 where choice & 0x80 == 0:
      check(queue.takeUnread() == model.takeUnread(), "not the bytes that no frame had taken")
    case 6:
      queue.givenUp(.posix(110, "read"))
      model.givenUp(.posix(110, "read"))
    case _ where choice & 0x80 == 0:
      queue.streamEnded()
      model.ended()
    default:
      queue.streamFailed(.posix(104, "read"))
      model.failed(.posix(104, "read"))
    }
    settle()
  }

  private mutating func arrive(_ bytes: [UInt8]) {
    queue.bytesArrived(bytes)
    model.arrived(bytes)
  }

  private mutating func read(_ framing: Framing, appendingTo target: [UInt8]) {
    queue.enqueue(framing, appendingTo: target, tag: tag)
    model.enqueue(framing, target, tag)
    tag += 1
  }

  private mutating func settle() {
    while true {
      var answer = queue.next(now: 0)
      while case .partial(let count, _, _) = answer {
        check(count == model.bytes.count, "a wrong count of bytes")
        answer = queue.next(now: 0)
      }
      let expected = model.next()
      if case .read(let count) = answer {
        check(count > 0, "nothing is asked for")
        check(expected == .read(atMost: .max), "more bytes are asked for, instead of \(expected)")
      } else {
        check(answer == expected, "\(answer) instead of \(expected)")
      }
      check(queue.unread == model.bytes, "other bytes are left")
      check(queue.readCount == model.readCount, "other reads are left")
      switch answer {
      case .read, .idle, .ended: return
      case .frame, .failed, .partial: continue
      }
    }
  }
}

/// Called by libFuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFrames(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: data, count: size))
  guard let choice = input.first else { return 0 }
  var script = Script(Array(input.dropFirst()))
  if choice & 1 == 0 {
    var trial = FrameTrial(reportsPartial: choice & 2 != 0)
    while !script.isEmpty { trial.step(&script) }
  } else {
    compareCuts(&script, readCount: Int(choice >> 1 & 7))
  }
  return 0
}

/// The same reads and bytes, whole, byte by byte, and in the cuts of the script.
private func compareCuts(_ script: inout Script, readCount: Int) {
  let framings = (0..<readCount).map { _ in script.framing() }.filter { !dependsOnCuts($0) }
  let pieces = (0..<script.byte() & 7).map { _ in script.byte() }
  let bytes = script.bytes(.max)
  let whole = answers(to: framings, bytes, pieces: [])
  check(answers(to: framings, bytes, pieces: pieces) == whole, "a difference by the pieces \(pieces)")
  let single = repeatElement(1, count: bytes.count)
  check(answers(to: framings, bytes, pieces: Array(single)) == whole, "a difference byte by byte")
}

/// Whether a frame is what happens to be there.
private func dependsOnCuts(_ framing: Framing) -> Bool {
  if case .bytes(let range) = framing.kind { range.lowerBound != range.upperBound } else { false }
}

private func answers(to framings: [Framing], _ bytes: [UInt8], pieces: [Int]) -> [FrameQueue.Step] {
  var queue = FrameQueue()
  for (tag, framing) in framings.enumerated() { queue.enqueue(framing, tag: tag) }
  var answers: [FrameQueue.Step] = []
  func settle() {
    while true {
      let answer = queue.next(now: 0)
      switch answer {
      case .read, .idle: return
      case .frame, .failed, .partial, .ended: answers.append(answer)
      }
    }
  }
  var rest = bytes[...]
  for count in pieces where !rest.isEmpty {
    queue.bytesArrived(rest.prefix(count))
    rest = rest.dropFirst(count)
    settle()
  }
  queue.bytesArrived(rest)
  settle()
  queue.streamEnded()
  settle()
  return answers + [.frame(queue.unread, tag: -1)]
}
