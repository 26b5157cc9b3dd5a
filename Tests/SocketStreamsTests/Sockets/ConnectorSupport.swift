// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Helpers of the tests of Sockets/: look-ups that hang, one connection's outcome.

@testable import SocketStreams

/// Look-ups that stay where they are until the test lets them go on.
final class HungLookups: Sendable {
  private let gate = Signal()
  private let begun = Signal()
  let hosts = Shared<[String]>([])

  /// In the place of `getaddrinfo`: every name is 127.0.0.1 and ::1.
  @Sendable func lookUp(_ host: String, _ family: AddressFamily) -> Result<[SocketAddress], StreamError> {
    hosts.with { $0.append(host) }
    begun.raise()
    _ = gate.wait(seconds: 60)
    return .success(["127.0.0.1", "::1"].map { SocketAddress(ip: $0, port: 0)! })
  }

  /// Waits until `count` more look-ups have begun.
  func waitUntilBegun(_ count: Int) -> Bool {
    begun.wait(count, seconds: 20)
  }

  func letGo(_ count: Int) { for _ in 0..<count { gate.raise() } }
}

/// What a look-up came to, waited for.
func resolved(
  _ resolver: some Resolver, _ host: String, port: UInt16 = 80, family: AddressFamily = .any
) async -> Result<[SocketAddress], StreamError> {
  await withCheckedContinuation { continuation in
    _ = resolver.resolve(host, port: port, family: family) { continuation.resume(returning: $0) }
  }
}

/// A look-up that is begun at once, and whose answer is waited for later.
final class StartedLookup: Sendable {
  private let answers = Shared<[Result<[SocketAddress], StreamError>]>([])
  private let answered = Signal()
  private let request = Shared<(any ResolverRequest)?>(nil)

  init(_ resolver: some Resolver, _ host: String, port: UInt16 = 80, family: AddressFamily = .any) {
    let request = resolver.resolve(host, port: port, family: family) { result in
      self.answers.with { $0.append(result) }
      self.answered.raise()
    }
    self.request.with { $0 = request }
  }

  func cancel() { request.value?.cancel() }

  var answerCount: Int { answers.value.count }

  /// The addresses; `nil` if there is no answer in time, or a failure.
  func addresses() -> [SocketAddress]? {
    guard answered.wait(seconds: 20) else { return nil }
    return try? answers.value.first?.get()
  }
}

/// One connector, what it told, and when.
final class Connection: Sendable {
  typealias Step = (address: SocketAddress, code: Int32?)

  let steps = Shared<[Step]>([])
  private let outcomes = Shared<
    (all: [Connector.Outcome], waiting: CheckedContinuation<Connector.Outcome, Never>?)
  >(
    ([], nil))
  private let elapsed = Shared(Duration.zero)
  private let connector = Shared<Connector?>(nil)

  init(
    _ target: ConnectTarget, _ options: ConnectionOptions = ConnectionOptions(), isStarted: Bool = true,
    onStep: (@Sendable (Connection) -> Void)? = nil
  ) {
    let start = ContinuousClock.now
    let made = Connector(target, options: options) { address, code in
      self.steps.with { $0.append((address, code)) }
      onStep?(self)
    } completion: { outcome in
      self.elapsed.with { $0 = ContinuousClock.now - start }
      let waiting = self.outcomes.with { outcomes in
        outcomes.all.append(outcome)
        defer { outcomes.waiting = nil }
        return outcomes.waiting
      }
      waiting?.resume(returning: outcome)
    }
    connector.with { $0 = made }
    if isStarted { made.start() }
  }

  convenience init(
    host: String, port: UInt16, _ table: [String: [String]], _ options: ConnectionOptions = .init()
  ) {
    var options = options
    options.resolver = StaticResolver(table)
    self.init(.host(host, port), options)
  }

  func start() { connector.value?.start() }

  func cancel() { connector.value?.cancel() }

  /// How many outcomes there were: 0 or 1, or the rule is broken.
  var outcomeCount: Int { outcomes.value.all.count }

  /// From the start to the outcome, measured where the outcome was told.
  var duration: Duration { elapsed.value }

  /// Waits for the outcome.
  func outcome() async -> Connector.Outcome {
    await withCheckedContinuation { continuation in
      let known = outcomes.with { outcomes in
        if outcomes.all.isEmpty { outcomes.waiting = continuation }
        return outcomes.all.first
      }
      if let known { continuation.resume(returning: known) }
    }
  }

  /// Waits for a socket; `nil` if it failed. It closes when dropped.
  func socket() async -> RawSocket? {
    guard case .connected(let fd, _) = await outcome() else { return nil }
    return RawSocket(owning: fd)
  }

  /// Waits for the failure; `nil` if it connected.
  func error() async -> StreamError? {
    switch await outcome() {
    case .failed(let error): return error
    case .connected(let fd, _):
      SystemCalls.close(fd)
      return nil
    }
  }
}

/// Returns after everything that was queued on the library's loop before, and what that queued, is done.
func sharedLoopPass() async {
  for _ in 0..<2 {
    await withCheckedContinuation { continuation in
      EventLoop.shared.execute { continuation.resume() }
    }
  }
}
