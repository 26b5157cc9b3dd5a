// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Testing

@testable import Demo

private let mebibyte = 1_048_576

@Suite("Quantities", .timeLimit(.minutes(2)))
struct QuantitiesTests {
  @Test(
    "bytes have a binary unit and one decimal",
    arguments: [
      (0, "0 B"), (1, "1 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (1_536, "1.5 KiB"),
      (10_000_000, "9.5 MiB"),
      (mebibyte - 1, "1.0 MiB"), (mebibyte, "1.0 MiB"), (19_083_879, "18.2 MiB"), (1_073_741_823, "1.0 GiB"),
      (1 << 40, "1.0 TiB"), (1 << 50, "1.0 PiB"), (Int.max, "8.0 EiB"), (-5, "0 B"),
    ])
  func bytes(_ count: Int, _ text: String) { #expect(Quantities.bytes(count) == text) }

  @Test(
    "a rate is bytes a second",
    arguments: [
      (0, "0 B/s"), (999.9, "999 B/s"), (5_347_737.6, "5.1 MiB/s"), (.infinity, "? B/s"), (.nan, "? B/s"),
    ])
  func rates(_ rate: Double, _ text: String) { #expect(Quantities.rate(rate) == text) }

  @Test(
    "times are whole seconds, rounded up",
    arguments: [
      (0, "0 s"), (1, "1 s"), (6_000, "6 s"), (59_001, "1 min 00 s"), (65_000, "1 min 05 s"),
      (3_599_999, "1 h 00 min"),
      (7_380_000, "2 h 03 min"), (-1_000, "0 s"),
    ])
  func times(_ milliseconds: Int, _ text: String) {
    #expect(Quantities.time(.milliseconds(milliseconds)) == text)
  }

  @Test(
    "a measured time has milliseconds", arguments: [(0, "0.000 s"), (12, "0.012 s"), (61_500, "61.500 s")])
  func seconds(_ milliseconds: Int, _ text: String) {
    #expect(Quantities.seconds(.milliseconds(milliseconds)) == text)
  }

  @Test("the rate is that of the last seconds, and what was there at the start is no speed")
  func meter() {
    var meter = RateMeter(start: .zero, bytes: 1_000_000)
    #expect(meter.rate == nil)
    meter.add(1_000_000, at: .zero)
    #expect(meter.rate == nil)
    meter.add(1_000_500, at: .milliseconds(500))
    #expect(meter.rate == 1_000)
    for second in 1...20 { meter.add(1_000_500 + second * 10_000, at: .seconds(second)) }
    #expect(meter.rate == 10_000)
    for second in 21...40 { meter.add(1_200_500, at: .seconds(second)) }
    #expect(meter.rate == 0)
  }
}

@Suite("The progress line", .timeLimit(.minutes(2)))
struct ProgressLineTests {
  private let report = Progress(
    name: "report.tar", done: 19_083_879, total: 51_380_224, rate: 5_347_737, elapsed: .seconds(4))

  private func line(_ progress: Progress, _ width: Int, unicode: Bool = true) -> String {
    ProgressLine(width: width, isUnicode: unicode).render(progress)
  }

  @Test(
    "parts go one after the other as the line gets narrow",
    arguments: [
      (100, "report.tar  37 % ▕████████▉               ▏  18.2 MiB of 49.0 MiB  5.1 MiB/s  7 s left"),
      (79, "report.tar  37 % ▕██████▎          ▏  18.2 MiB of 49.0 MiB  5.1 MiB/s  7 s left"),
      (67, "report.tar  37 % ▕█▊   ▏  18.2 MiB of 49.0 MiB  5.1 MiB/s  7 s left"),
      (66, "report.tar  37 %  18.2 MiB of 49.0 MiB  5.1 MiB/s  7 s left"),
      (50, " 37 %  18.2 MiB of 49.0 MiB  5.1 MiB/s  7 s left"),
      (40, " 37 %  18.2 MiB of 49.0 MiB  5.1 MiB/s"),
      (30, " 37 %  18.2 MiB of 49.0 MiB"),
      (10, " 37 %"),
      (3, ""),
    ])
  func narrow(_ width: Int, _ expected: String) {
    #expect(line(report, width) == expected)
  }

  @Test("no line is wider than it may be, whatever the numbers")
  func width() {
    for width in 0...120 {
      for total in [nil, 0, 1, 1_000, Int.max] {
        for done in [0, 1, 999, 1_000, Int.max] {
          for rate in [nil, 0, 0.5, 1e9, .infinity] as [Double?] {
            let progress = Progress(
              name: "a file", done: done, total: total, rate: rate, elapsed: .seconds(3))
            for unicode in [true, false] { #expect(line(progress, width, unicode: unicode).count <= width) }
          }
        }
      }
    }
  }

  @Test("without UTF-8 the bar is ASCII")
  func ascii() {
    let text = line(report, 79, unicode: false)
    #expect(text == "report.tar  37 % [######           ]  18.2 MiB of 49.0 MiB  5.1 MiB/s  7 s left")
    #expect(text.utf8.allSatisfy { $0 < 0x80 })
  }

  @Test("an unknown length shows bytes, rate and the time that has passed")
  func unknownLength() {
    let progress = Progress(
      name: "stdin", done: 3 * mebibyte, total: nil, rate: 1_048_576, elapsed: .seconds(3))
    #expect(line(progress, 79) == "stdin  3.0 MiB  1.0 MiB/s  3 s")
  }

  @Test(
    "100 % means that everything is there, and nothing of nothing is everything",
    arguments: [
      (0, 0, 100), (0, 10, 0), (9_999, 10_000, 99), (10_000, 10_000, 100), (10_001, 10_000, 100), (-1, 10, 0),
    ])
  func percent(_ done: Int, _ total: Int, _ percent: Int) {
    #expect(Progress(name: "", done: done, total: total, rate: nil, elapsed: .zero).percent == percent)
  }

  @Test("an empty file is complete, with a full bar")
  func empty() {
    let progress = Progress(name: "e", done: 0, total: 0, rate: nil, elapsed: .zero)
    #expect(line(progress, 40, unicode: false) == "e 100 % [##################]  0 B of 0 B")
  }

  @Test("the line waits a moment, then comes at most ten times a second, and is erased once")
  func drawing() {
    var bar = ProgressBar(isUnicode: false)
    func update(_ milliseconds: Int) -> String? {
      let progress = Progress(name: "f", done: 1, total: nil, rate: nil, elapsed: .milliseconds(milliseconds))
      return bar.update(progress, width: 80)
    }
    #expect(bar.erase() == nil)
    #expect(update(0) == nil)
    #expect(update(299) == nil)
    #expect(bar.erase() == nil)
    #expect(update(300) == "\r\u{1B}[Kf  1 B  1 s")
    #expect(update(399) == nil)
    #expect(update(400) != nil)
    #expect(bar.erase() == "\r\u{1B}[K")
    #expect(bar.erase() == nil)
    #expect((500...1_499).filter { update($0) != nil }.count == 10)
  }

  @Test("the line is wanted on a terminal that can erase, or always, or never")
  func wanted() {
    #expect(ProgressBar.isWanted(.auto, isTerminal: true, term: "xterm"))
    #expect(!ProgressBar.isWanted(.auto, isTerminal: true, term: "dumb"))
    #expect(!ProgressBar.isWanted(.auto, isTerminal: false, term: "xterm"))
    #expect(ProgressBar.isWanted(.always, isTerminal: false, term: "dumb"))
    #expect(!ProgressBar.isWanted(.never, isTerminal: true, term: "xterm"))
  }
}
