// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The progress line as a pure function of its numbers and the width. Drawing it is ProgressBar's.

/// What `--progress` was set to.
enum ProgressChoice: String, Choice { case always, never, auto }

/// How far a transfer has come.
struct Progress: Hashable, Sendable {
  /// What is transferred: a file's name, or a few words.
  var name: String
  var done: Int
  /// `nil` if the length is not known.
  var total: Int?
  /// Bytes a second, lately.
  var rate: Double?
  var elapsed: Duration

  /// Whole per cent, rounded down: 100 means that everything is there. `nil` if the length is not known.
  var percent: Int? {
    guard let total else { return nil }
    guard total > 0, done < total else { return 100 }
    return Int(Double(max(done, 0)) / Double(total) * 100)
  }

  /// How long the rest takes at this rate.
  var timeLeft: Duration? {
    guard let total, let rate, rate >= 1 else { return nil }
    return .milliseconds(Int64(min(Double(max(0, total - done)) / rate, 1e6) * 1_000))
  }
}

/// Renders a progress line.
struct ProgressLine {
  private static let barColumns = 5...24

  /// The columns that the line may take.
  let width: Int
  /// Whether the bar may use block characters.
  let isUnicode: Bool

  /// One line without its end, never wider than ``width``. Parts are left out from the least to the most important:
  /// the bar, the name, the time, the rate.
  func render(_ progress: Progress) -> String {
    let amount = amount(of: progress)
    let rate = progress.rate.map(Quantities.rate)
    let time = time(of: progress)
    let percent = progress.percent.map {
      String(repeating: " ", count: $0 < 10 ? 2 : $0 < 100 ? 1 : 0) + "\($0) %"
    }

    let tail = [amount, rate, time].compactMap(\.self).joined(separator: "  ")
    let head = [progress.name, percent].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: " ")
    let free = width - head.count - tail.count - 2
    if let total = progress.total, free - 3 >= Self.barColumns.lowerBound {
      let columns = min(free - 3, Self.barColumns.upperBound)
      let fraction = total > 0 ? min(1, max(0, Double(progress.done) / Double(total))) : 1
      return "\(head) \(bar(fraction, columns: columns))  \(tail)"
    }
    let choices = [
      [head, amount, rate, time], [percent, amount, rate, time], [percent, amount, rate], [percent, amount],
      [percent ?? amount],
    ]
    let lines = choices.map { $0.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: "  ") }
    return lines.first { $0.count <= width } ?? ""
  }

  /// "18.2 MiB of 49.0 MiB", or only what is there.
  private func amount(of progress: Progress) -> String {
    let done = Quantities.bytes(progress.done)
    return progress.total.map { "\(done) of \(Quantities.bytes($0))" } ?? done
  }

  /// What is left, or what has passed if nothing better is known.
  private func time(of progress: Progress) -> String? {
    if progress.total == nil { return Quantities.time(progress.elapsed) }
    return progress.timeLeft.map { Quantities.time($0) + " left" }
  }

  /// A bar of `columns` cells between two borders.
  private func bar(_ fraction: Double, columns: Int) -> String {
    guard isUnicode else {
      let full = Int(fraction * Double(columns))
      return "[" + String(repeating: "#", count: full) + String(repeating: " ", count: columns - full) + "]"
    }
    let eighths = Int(fraction * Double(columns * 8))
    var cells = String(repeating: "█", count: eighths / 8)
    if eighths % 8 > 0 { cells.append(Self.blocks[eighths % 8 - 1]) }
    return "▕" + cells + String(repeating: " ", count: columns - cells.count) + "▏"
  }

  private static let blocks: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"]
}
