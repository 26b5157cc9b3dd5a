// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Byte counts, rates and times as people read them. Pure.

/// Writes quantities.
enum Quantities {
  /// "999 B", "1.0 KiB", "18.2 MiB": binary units, one decimal above bytes.
  static func bytes(_ count: Int) -> String {
    guard count >= 1_024 else { return "\(max(count, 0)) B" }
    var unit = 0
    var tenths = rounded(count, over: 1_024)
    while tenths >= 10_240, unit < units.count - 1 {
      unit += 1
      tenths = rounded(count, over: 1 << (10 * (unit + 1)))
    }
    return "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }

  /// "5.1 MiB/s".
  static func rate(_ bytesPerSecond: Double) -> String {
    guard bytesPerSecond.isFinite, bytesPerSecond < 1e18 else { return "? B/s" }
    return bytes(Int(bytesPerSecond)) + "/s"
  }

  /// "0 s", "59 s", "1 min 05 s", "2 h 03 min". Whole seconds, rounded up: what is left is never shown as nothing.
  static func time(_ duration: Duration) -> String {
    let parts = duration.components
    let seconds = max(0, parts.seconds + (parts.attoseconds > 0 ? 1 : 0))
    return switch seconds {
    case ..<60: "\(seconds) s"
    case ..<3_600: "\(seconds / 60) min \(padded(seconds % 60)) s"
    default: "\(seconds / 3_600) h \(padded(seconds % 3_600 / 60)) min"
    }
  }

  /// "0.012 s": for a measured time.
  static func seconds(_ duration: Duration) -> String {
    let milliseconds = self.milliseconds(duration)
    let fraction = String(milliseconds % 1_000)
    return "\(milliseconds / 1_000)." + String(repeating: "0", count: 3 - fraction.count) + fraction + " s"
  }

  /// "0.5 s", "30 s": for a time that was chosen, with tenths if there are any.
  static func shortSeconds(_ duration: Duration) -> String {
    let tenths = milliseconds(duration) / 100
    return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
  }

  /// Whole milliseconds; 0 for a negative duration.
  static func milliseconds(_ duration: Duration) -> Int64 {
    let parts = duration.components
    return max(0, parts.seconds * 1_000 + parts.attoseconds / 1_000_000_000_000_000)
  }

  private static let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

  /// `count / unit` in tenths, rounded to the nearest; split so that no product overflows.
  private static func rounded(_ count: Int, over unit: Int) -> Int {
    let (whole, rest) = count.quotientAndRemainder(dividingBy: unit)
    return whole * 10 + Int((Double(rest) / Double(unit) * 10).rounded())
  }

  private static func padded(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

/// The speed over the last few seconds. What was there from the start counts as present, not as speed.
struct RateMeter: Sendable {
  private static let window = Duration.seconds(5)

  /// What was counted when, oldest first.
  private var samples: [(time: Duration, bytes: Int)]

  /// - Parameter bytes: What is there already, from an earlier run.
  init(start: Duration, bytes: Int = 0) { samples = [(start, bytes)] }

  /// Notes that `bytes` in all were counted at `time`. Earlier samples go when they leave the window.
  mutating func add(_ bytes: Int, at time: Duration) {
    samples.append((time, bytes))
    while samples.count > 2, time - samples[1].time >= Self.window { samples.removeFirst() }
  }

  /// Bytes a second, or `nil` before any time has passed.
  var rate: Double? {
    guard let first = samples.first, let last = samples.last, last.time > first.time else { return nil }
    return max(0, Double(last.bytes - first.bytes)) / ((last.time - first.time) / .seconds(1))
  }
}
