// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// When a client that stays connected tries again: told what happened, it answers what to do. Knows no stream, no clock
// and no thread; chance is handed in.

/// The life of a client that stays connected. (A23, M1, M2)
struct ReconnectSchedule {
  /// Numbers attempts and waits, so that what is told too late of an old one is not taken for the present one.
  typealias ID = Int

  enum Effect: Equatable {
    /// Begin the attempt `ID`, the `attempt`th in a row. What comes of it is told by `attemptConnected`,
    /// `attemptFailed` or `connectionOver`.
    case connect(ID, attempt: Int)
    /// The attempt is over without a connection: let go of it. Comes once for each that was begun, unless it is
    /// handed over.
    case drop(ID)
    /// The attempt has become a connection, which is its owner's now; its end is told by `connectionOver`.
    case handOver(ID)
    /// Tell `waitEnded` after this time.
    case wait(ID, Duration)
    /// Nobody waits any more.
    case cancelWait
    /// The limit of attempts is reached; nothing more happens by itself.
    case giveUp
  }

  private enum Phase { case stopped, connecting, connected, waiting }

  private var phase = Phase.stopped
  private var current: ID = 0
  /// The connection that was handed over and whose end was not told yet, whether or not the client was stopped.
  private var connection: ID?
  /// Attempts that failed in a row.
  private var failures = 0
  private var delays: ReconnectDelays
  private let limit: Int?

  init(_ policy: ReconnectPolicy) {
    delays = ReconnectDelays(policy)
    limit = policy.attempts.map { max($0, 1) }
  }

  /// Nothing more happens by itself.
  var isStopped: Bool { phase == .stopped }

  /// Whether the attempt `id` is the one that runs.
  func isConnecting(_ id: ID) -> Bool { phase == .connecting && id == current }

  /// Whether the wait `id` is the one that goes on.
  func isWaiting(_ id: ID) -> Bool { phase == .waiting && id == current }

  // MARK: - What the owner asks for

  /// The client is to be connected from now on.
  mutating func startRequested() -> [Effect] { isStopped ? begin() : [] }

  /// A connection is wanted now, by hand. An attempt that runs goes on as the first.
  mutating func connectRequested() -> [Effect] {
    switch phase {
    case .stopped: return begin()
    case .waiting:
      startAfresh()
      return [.cancelWait, connect()]
    case .connecting, .connected:
      startAfresh()
      return []
    }
  }

  /// No more attempts. A connection that was handed over stays its owner's.
  mutating func stopRequested() -> [Effect] {
    defer { phase = .stopped }
    switch phase {
    case .connecting: return [.drop(current)]
    case .waiting: return [.cancelWait]
    case .stopped, .connected: return []
    }
  }

  // MARK: - What happened

  mutating func attemptConnected(_ id: ID) -> [Effect] {
    guard isConnecting(id) else { return [] }
    phase = .connected
    connection = id
    startAfresh()
    return [.handOver(id)]
  }

  /// - Parameter random: From 0 to 1, for the jitter.
  mutating func attemptFailed(_ id: ID, random: Double) -> [Effect] {
    guard isConnecting(id) else { return [] }
    failures += 1
    if let limit, failures >= limit {
      phase = .stopped
      return [.drop(id), .giveUp]
    }
    return [.drop(id), wait(random)]
  }

  /// The connection is over: both its streams are closed. Of an attempt that runs, somebody closed them.
  mutating func connectionOver(_ id: ID, random: Double) -> [Effect] {
    guard id == connection else { return attemptFailed(id, random: random) }
    connection = nil
    return phase == .connected ? [wait(random)] : []
  }

  mutating func waitEnded(_ id: ID) -> [Effect] { isWaiting(id) ? [connect()] : [] }

  // MARK: - Steps

  /// Starts, or goes on with a connection that was kept while the client was stopped.
  private mutating func begin() -> [Effect] {
    startAfresh()
    guard connection == nil else {
      phase = .connected
      return []
    }
    return [connect()]
  }

  private mutating func startAfresh() {
    failures = 0
    delays.reset()
  }

  private mutating func connect() -> Effect {
    phase = .connecting
    current += 1
    return .connect(current, attempt: failures + 1)
  }

  private mutating func wait(_ random: Double) -> Effect {
    phase = .waiting
    current += 1
    return .wait(current, delays.take(random: random))
  }
}
