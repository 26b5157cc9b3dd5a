// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

import Testing

@testable import SocketStreamsTLS

@Suite("Scanner of records")
struct RecordScannerTests {
  private func record(_ kind: UInt8, _ count: Int) -> [UInt8] {
    [kind, 3, 3, UInt8(count >> 8), UInt8(count & 0xff)] + [UInt8](repeating: 0xaa, count: count)
  }

  /// Offers `bytes` and the rest of them again and again.
  /// - Returns: How many passed each time.
  private func passes(_ bytes: [UInt8], cut: Int = .max) -> [Int] {
    var (scanner, passed, offered) = (RecordScanner(), [Int](), 0)
    var rest: [UInt8] = []
    while offered < bytes.count || !rest.isEmpty {
      if rest.isEmpty {
        rest = Array(bytes[offered..<min(bytes.count, offered + min(cut, bytes.count))])
        offered += rest.count
      }
      passed.append(scanner.pass(rest.span))
      rest.removeFirst(passed.last!)
    }
    return passed
  }

  // J14
  @Test("records pass together, up to one that can be a close_notify")
  func records() {
    let long = record(23, 300) + record(22, 40) + record(20, 1) + record(23, 20)
    #expect(passes(long) == [long.count])
    #expect(passes(long + record(23, 19) + long) == [long.count + 24, long.count])
    #expect(passes(record(21, 26) + [1, 2, 3]) == [31, 3])
    #expect(passes(record(23, 11) + record(23, 19) + record(23, 19)) == [16, 24, 24])
  }

  // J14
  @Test("they pass together up to what cannot be a record, too")
  func plain() {
    let padded = record(23, 300)
    for plain: [UInt8] in [[0x32], Array("220 ready".utf8), [24, 3, 3], [19], [22, 2], [0]] {
      #expect(passes(padded + plain).first == padded.count)
    }
    for more: [UInt8] in [[20], [22, 3], [23, 3, 3]] {
      #expect(passes(padded + more) == [padded.count + more.count])
    }
  }

  // J14
  @Test("a record that is asked for passes, whatever it looks like, and however it is cut")
  func cuts() {
    let bytes = record(23, 300) + record(21, 26) + record(23, 500) + record(23, 19) + Array("plain".utf8)
    for cut in 1...40 {
      let passed = passes(bytes, cut: cut)
      #expect(passed.allSatisfy { $0 > 0 } && passed.reduce(0, +) == bytes.count)
      // Nothing passes across the two places.
      let places = passed.reduce(into: [0]) { $0.append($0.last! + $1) }
      #expect(places.contains(336) && places.contains(336 + 505 + 24))
    }
  }

  @Test("nothing to pass, and records of nothing, are no trouble")
  func nothing() {
    var scanner = RecordScanner()
    #expect(scanner.pass([UInt8]().span) == 0)
    #expect(passes(record(23, 0) + record(21, 0) + record(23, 0)) == [5, 5, 5])
    #expect(passes(record(20, 0) + record(20, 0)) == [10])
  }
}

#endif
