// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Helpers of the tests of clients that stay connected: a server that comes and goes on one port, and what a client
// told. No assertions.
import Glibc
import SocketStreams

/// A server on a port that stays its own while it is down: then connections are refused.
final class ComingServer: Sendable {
  private struct State {
    var listener: RawListener?
    var isUp = false
    var serving: Gate?
    var sockets: [RawSocket] = []
    var accepted = 0
  }

  /// What it does with each connection.
  enum Manner: Sendable {
    /// Keeps it open.
    case keep
    case close
    case reset
    /// Sends this, and closes.
    case say([UInt8])
  }

  private let reserved: RefusedPort
  private let manner: Manner
  private let state = Shared(State())

  /// Makes a server that is down.
  init(_ manner: Manner = .keep) throws {
    self.manner = manner
    reserved = try RefusedPort(isShared: true)
  }

  deinit { goDown() }

  var address: SocketAddress { SocketAddress(ip: "127.0.0.1", port: reserved.port)! }

  /// How many connections it has accepted.
  var accepted: Int { state.with { $0.accepted } }

  /// The connections that it keeps.
  var sockets: [RawSocket] { state.with { $0.sockets } }

  func comeUp() throws {
    let listener = try RawListener(port: reserved.port)
    state.with {
      $0.listener = listener
      $0.isUp = true
      $0.serving = onThread { [weak self] in
        while let socket = listener.accept(seconds: 60), self?.serve(socket) == true {}
      }
    }
  }

  /// Closes the listener; what was accepted goes on.
  func goDown() {
    let (listener, serving) = state.with {
      $0.isUp = false
      return ($0.listener.take(), $0.serving.take())
    }
    guard let listener else { return }
    shutdown(listener.fd, Int32(SHUT_RDWR))  // wakes the thread
    _ = serving?.wait(seconds: 5)
    listener.close()
  }

  /// Closes what it keeps.
  func closeConnections() { for socket in state.with({ take(&$0.sockets) }) { socket.close() } }

  private func take(_ sockets: inout [RawSocket]) -> [RawSocket] {
    defer { sockets = [] }
    return sockets
  }

  private func serve(_ socket: RawSocket) -> Bool {
    switch manner {
    case .keep: break
    case .close: socket.close()
    case .reset: socket.reset()
    case .say(let bytes):
      socket.send(bytes)
      socket.close()
    }
    return state.with {
      $0.accepted += 1
      if case .keep = manner { $0.sockets.append(socket) }
      return $0.isUp
    }
  }
}

/// What a client told, and what was wrong with how it told it.
final class ReconnectLog: Sendable {
  enum Entry: Equatable, Sendable {
    case connecting(Int)
    case connected
    case waiting(Duration, StreamError?)
    case gaveUp(StreamError)
  }

  private let recorded = Shared<[Entry]>([])
  private let handed = Shared<[StreamPair]>([])
  private let strayed = Shared(0)
  private let inside = Shared(false)
  private let nested = Shared(0)

  var entries: [Entry] { recorded.value }
  /// Calls on another thread than the base's.
  var strayCount: Int { strayed.value }
  /// Calls inside a call.
  var nestedCount: Int { nested.value }
  /// The connections that are kept.
  var pairs: [StreamPair] { handed.value }

  var attempts: Int { entries.count { if case .connecting = $0 { true } else { false } } }
  var connections: Int { entries.count { $0 == .connected } }
  var waits: [Duration] { entries.compactMap { if case .waiting(let time, _) = $0 { time } else { nil } } }
  var isWaiting: Bool { if case .waiting? = entries.last { true } else { false } }
  var errors: [StreamError] {
    entries.compactMap { if case .waiting(_, let error) = $0 { error } else { nil } }
  }
  var hasGivenUp: Bool { if case .gaveUp? = entries.last { true } else { false } }

  func note(_ event: ReconnectEvent, on base: EventBase?, keeping: Bool = true) {
    if inside.with({ was in
      defer { was = true }
      return was
    }) {
      nested.with { $0 += 1 }
    }
    defer { inside.with { $0 = false } }
    if base?.isCurrent == false { strayed.with { $0 += 1 } }
    if case .connected(let pair) = event, keeping { handed.with { $0.append(pair) } }
    recorded.with { $0.append(Entry(event)) }
  }

  /// Lets go of the connections without closing them.
  func dropPairs() { _ = handed.with { pairs in pairs.exchange([]) } }

  /// A client that this is told of.
  func client(
    on base: EventBase, _ policy: ReconnectPolicy, to address: SocketAddress,
    options: ConnectionOptions = ConnectionOptions(), keeping: Bool = true,
    then body: @escaping @Sendable (ReconnectingClient, ReconnectEvent) -> Void = { _, _ in }
  ) -> ReconnectingClient {
    ReconnectingClient(on: base, policy: policy, makePair: { StreamPair(address: address, options: options) })
    {
      [self, weak base] client, event in
      note(event, on: base, keeping: keeping)
      body(client, event)
    }
  }
}

/// Whether `condition` holds for a stretch that is many waits of a client long.
func stays(_ condition: () -> Bool) -> Bool { !eventually(within: 0.1) { !condition() } }

extension ReconnectLog.Entry {
  init(_ event: ReconnectEvent) {
    switch event {
    case .connecting(let attempt): self = .connecting(attempt)
    case .connected: self = .connected
    case .waiting(let time, let error): self = .waiting(time, error)
    case .gaveUp(let error): self = .gaveUp(error)
    }
  }
}

extension Array {
  fileprivate mutating func exchange(_ other: [Element]) -> [Element] {
    defer { self = other }
    return self
  }
}

extension ReconnectPolicy {
  /// Waits of a few milliseconds.
  static func quick(_ milliseconds: Int = 5, attempts: Int? = nil) -> ReconnectPolicy {
    ReconnectPolicy(
      initialDelay: .milliseconds(milliseconds), factor: 1.5, maximumDelay: .milliseconds(10 * milliseconds),
      jitter: 0, attempts: attempts)
  }

  /// A wait that no test sees the end of.
  static let patient = ReconnectPolicy(initialDelay: .seconds(3_600), maximumDelay: .seconds(3_600))
}
