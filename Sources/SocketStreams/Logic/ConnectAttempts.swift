// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Which address is tried when, after RFC 8305 ("Happy Eyeballs"), as a pure state machine: told what happened, it
// answers what to do. Knows no socket, no clock and no thread. One difference to the RFC: IPv4 and IPv6 addresses come
// from one look-up, so there is no waiting for the second half of an answer.

/// The race of one connection's addresses. (A5, A6, S52, S53)
struct ConnectAttempts {
  /// Numbers an attempt, in the order in which they start.
  typealias ID = Int

  enum Effect: Equatable {
    /// Begin connecting; the outcome is told by `attemptConnected` or `attemptFailed`.
    case start(ID, SocketAddress)
    /// The attempt is over and did not win: close its socket. Comes once for each that started, but the winner.
    case end(ID)
    /// Tell `delayPassed` after the attempt delay, counted from now; an earlier such wish is void.
    case startDelay
    /// The names are not needed any more.
    case cancelLookup
    /// The race is over. Comes at most once, as the last effect of its list.
    case finish(Outcome)
  }

  enum Outcome: Equatable {
    /// This attempt won, and its socket is the connection.
    case connected(ID)
    case failed(StreamError)
  }

  private enum Phase { case lookingUp, racing, over }

  private enum State: Equatable {
    case running
    case failed(Int32)
    case dropped
    case won
  }

  private var phase = Phase.lookingUp
  /// In the order in which they are tried; the first `states.count` have started.
  private var addresses: [SocketAddress] = []
  private var states: [State] = []

  /// Whether the outcome is known, or nobody wants it any more.
  var isOver: Bool { phase == .over }

  /// Waits for `resolved` or `lookupFailed`.
  init() {}

  /// The attempt delay that may be used: RFC 8305 forbids less than 100 milliseconds or more than 2 seconds.
  static func allowedDelay(_ wanted: Duration) -> Duration {
    min(max(wanted, .milliseconds(100)), .seconds(2))
  }

  /// Alternates between the families, beginning with the first address's and otherwise keeping the order.
  static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
    guard let first = addresses.first else { return [] }
    let leading = addresses.filter { $0.kind == first.kind }
    let others = addresses.filter { $0.kind != first.kind }
    var result: [SocketAddress] = []
    for place in 0..<max(leading.count, others.count) {
      if place < leading.count { result.append(leading[place]) }
      if place < others.count { result.append(others[place]) }
    }
    return result
  }

  // MARK: - What happened

  /// The names were looked up. `addresses` is not empty.
  mutating func resolved(_ found: [SocketAddress]) -> [Effect] {
    guard phase == .lookingUp else { return [] }
    precondition(!found.isEmpty, "a look-up without addresses has failed")
    phase = .racing
    addresses = Self.interleaved(found)
    return startNext()
  }

  mutating func lookupFailed(_ error: StreamError) -> [Effect] {
    guard phase == .lookingUp else { return [] }
    phase = .over
    return [.finish(.failed(error))]
  }

  mutating func attemptConnected(_ id: ID) -> [Effect] {
    guard phase == .racing, states[id] == .running else { return [] }
    states[id] = .won
    phase = .over
    return dropRunning() + [.finish(.connected(id))]
  }

  mutating func attemptFailed(_ id: ID, code: Int32) -> [Effect] {
    guard phase == .racing, states[id] == .running else { return [] }
    states[id] = .failed(code)
    if states.count < addresses.count { return [.end(id)] + startNext() }
    guard !states.contains(.running) else { return [.end(id)] }
    phase = .over
    return [.end(id), .finish(.failed(failure(code: lastCode)))]
  }

  /// The attempt delay is over: the next address is tried beside the others.
  mutating func delayPassed() -> [Effect] {
    phase == .racing && states.count < addresses.count ? startNext() : []
  }

  /// The time for the whole is over.
  /// - Parameter code: What the error and every attempt that still ran get: `ETIMEDOUT`.
  mutating func deadlinePassed(code: Int32) -> [Effect] {
    switch phase {
    case .over: return []
    case .lookingUp:
      phase = .over
      return [.cancelLookup, .finish(.failed(failure(code: code)))]
    case .racing:
      phase = .over
      let dropped = dropRunning(code: code)
      return dropped + [.finish(.failed(failure(code: code)))]
    }
  }

  /// Nobody wants the connection any more. Nothing finishes after this.
  mutating func cancelled() -> [Effect] {
    defer { phase = .over }
    switch phase {
    case .over: return []
    case .lookingUp: return [.cancelLookup]
    case .racing: return dropRunning()
    }
  }

  // MARK: - Steps

  private mutating func startNext() -> [Effect] {
    let id = states.count
    states.append(.running)
    let effect = Effect.start(id, addresses[id])
    return id + 1 < addresses.count ? [effect, .startDelay] : [effect]
  }

  private mutating func dropRunning(code: Int32? = nil) -> [Effect] {
    let running = states.indices.filter { states[$0] == .running }
    for id in running { states[id] = code.map(State.failed) ?? .dropped }
    return running.map(Effect.end)
  }

  /// The code of the attempt that started last: an address that does not answer at all was tried earlier, and its
  /// timeout would hide the better reason. (S52)
  private var lastCode: Int32 {
    guard case .failed(let code)? = states.last else { preconditionFailure("the last attempt has failed") }
    return code
  }

  private func failure(code: Int32) -> StreamError {
    var attempts: [ConnectAttempt] = []
    for (address, state) in zip(addresses, states) {
      if case .failed(let code) = state { attempts.append(ConnectAttempt(address: address, code: code)) }
    }
    return StreamError(.posix, code: code, operation: "connect", attempts: attempts)
  }
}

extension SocketAddress {
  fileprivate enum Kind { case ipv4, ipv6, unix }

  fileprivate var kind: Kind {
    switch storage {
    case .ipv4: .ipv4
    case .ipv6: .ipv6
    case .unix: .unix
    }
  }
}
