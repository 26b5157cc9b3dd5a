// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Random scripts that can be played again: a generator with a seed, and the seeds of one run.
import Glibc

/// SplitMix64: small, good enough to choose steps of a script, the same everywhere.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True once in `count` times.
  mutating func oneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

  /// One of 0 to `count - 1`.
  mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }
}

/// The seeds of the scripts of one run: the same ones each time, and as many new ones. `SOCKETSTREAMS_SEED=n` plays
/// one again.
func scriptSeeds(_ count: Int) -> [UInt64] {
  if let text = getenv("SOCKETSTREAMS_SEED"), let seed = UInt64(String(cString: text)) { return [seed] }
  return (0..<count).map { UInt64($0) }
    + (0..<count).map { _ in UInt64.random(in: 1_000...UInt64(Int64.max)) }
}
