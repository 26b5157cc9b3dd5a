// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The server of `echod`: listens on the network's thread, and hands connections to its threads in turn.

import SocketStreams

/// What `echod` was asked to do.
struct EchoServerPlan: Sendable {
  var address: SocketAddress
  var threads = 1
  var connection = EchoPlan()
  var servesOnce = false
  /// How long nothing may happen; `nil` for ever.
  var timeout: Duration?
  var tellsEvents = false
  /// Whether it is told who could not be secured.
  var isVerbose = false
  /// Whether the line with the address is data.
  var printsAddress = true
}

/// A listener and its connections.
actor EchoServer: NetworkTask {
  private nonisolated let base: EventBase
  private nonisolated let plan: EchoServerPlan
  private nonisolated let printer: Printer
  private nonisolated let counts: ContextCounts
  /// The loops that serve connections.
  private nonisolated let workers: EventBaseGroup
  private let report: ResultBoard.Report

  private var listener: Listener?
  private var connections: [Int: EchoConnection] = [:]
  private var accepted = 0
  private var outcome = TaskOutcome(connections: 0)
  private var lastActivity = ContinuousClock.now
  private var isEnding = false
  private var hasReported = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  init(
    _ plan: EchoServerPlan, on base: EventBase, workers: EventBaseGroup, printer: Printer,
    counts: ContextCounts,
    report: @escaping ResultBoard.Report
  ) {
    self.plan = plan
    self.base = base
    self.workers = workers
    self.printer = printer
    self.counts = counts
    self.report = report
  }

  nonisolated func begin() { perform { $0.listen() } }

  nonisolated func stop(isInterrupted: Bool) {
    perform { server in
      server.outcome.isInterrupted = isInterrupted
      server.end(cutting: true)
    }
  }

  nonisolated func end() -> [String] {
    workers.stop()
    workers.join()
    return []
  }

  // MARK: - Listening

  private func listen() {
    do {
      let listener = try Listener(address: plan.address, backlog: 1_024)
      self.listener = listener
      let line = "listening on \(listener.localAddress)"
      let isData = plan.printsAddress
      printer.tell { isData ? $0.write(line + "\n") : $0.note(line) }
      listener.schedule(on: base) { [self] pair, peer in assumeIsolated { $0.accept(pair, peer) } }
      if let timeout = plan.timeout { watch(after: timeout) }
    } catch {
      outcome.failure = Failure(error, during: .listen)
      end(cutting: true)
    }
  }

  private func accept(_ pair: StreamPair, _ peer: SocketAddress) {
    guard !isEnding else { return }
    accepted += 1
    let number = accepted
    lastActivity = .now
    if plan.tellsEvents { tell("\(number): from \(peer)") }
    let connection = EchoConnection(
      pair, plan.connection, on: workers.next(), counts: counts, tell: { [self] in happened(number, $0) },
      finished: { [self] result in perform { $0.finished(number, peer, result) } })
    connections[number] = connection
    connection.begin()
    if plan.servesOnce { end(cutting: false) }
  }

  private nonisolated func happened(_ number: Int, _ event: String) {
    if plan.tellsEvents { tell("\(number): \(event)") }
    if plan.timeout != nil { perform { $0.lastActivity = .now } }
  }

  private func finished(_ number: Int, _ peer: SocketAddress, _ result: EchoConnection.Outcome) {
    connections[number] = nil
    lastActivity = .now
    outcome.connections += 1
    outcome.received += result.count
    outcome.sent += result.count
    if let error = result.error {
      if plan.tellsEvents {
        tell("\(number): \(error)")
      } else if plan.isVerbose, error.phaseOfSecuring != nil {
        tell("\(peer): \(error)")
      }
      if plan.servesOnce { outcome.failure = Failure(error, during: .read) }
    } else if plan.tellsEvents {
      tell("\(number): done, \(result.count) bytes")
    }
    reportIfDone()
  }

  // MARK: - Time and the end

  private func watch(after delay: Duration) {
    base.schedule(after: delay) { [weak self] in self?.assumeIsolated { $0.lookForActivity() } }
  }

  private func lookForActivity() {
    guard !hasReported, let timeout = plan.timeout else { return }
    let rest = timeout - (ContinuousClock.now - lastActivity)
    guard rest <= .zero else { return watch(after: rest) }
    outcome.failure = .timeLimit(during: connections.isEmpty ? .listen : .read)
    end(cutting: true)
  }

  /// Stops listening, and ends when the last connection has.
  private func end(cutting: Bool) {
    isEnding = true
    listener?.close()
    listener = nil
    if cutting { for connection in connections.values { connection.stop() } }
    reportIfDone()
  }

  private func reportIfDone() {
    guard isEnding, connections.isEmpty, !hasReported else { return }
    hasReported = true
    report(outcome)
  }

  private nonisolated func perform(_ body: @escaping @Sendable (isolated EchoServer) -> Void) {
    base.execute { self.assumeIsolated(body) }
  }

  private nonisolated func tell(_ line: String) { printer.tell { $0.note(line) } }
}
