// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The server of `echod`: hands connections to its threads in turn.

import SocketStreams

/// A listener and its connections.
actor EchoServer: Server {
  nonisolated let base: EventBase
  nonisolated let plan: ServerPlan
  nonisolated let printer: Printer
  nonisolated let report: ResultBoard.Report
  private let connectionPlan: EchoPlan
  private let servesOnce: Bool
  private let counts: ContextCounts
  /// The loops that serve connections.
  private nonisolated let workers: EventBaseGroup

  var progress = ServerProgress()
  private var connections: [Int: EchoConnection] = [:]

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  /// - Parameter once: Whether it ends after the first connection.
  init(
    _ plan: ServerPlan, serving connectionPlan: EchoPlan, once: Bool, on base: EventBase,
    workers: EventBaseGroup, printer: Printer, counts: ContextCounts, report: @escaping ResultBoard.Report
  ) {
    self.plan = plan
    self.connectionPlan = connectionPlan
    servesOnce = once
    self.base = base
    self.workers = workers
    self.printer = printer
    self.counts = counts
    self.report = report
  }

  var clientCount: Int { connections.count }

  nonisolated func end() -> [String] {
    workers.stop()
    workers.join()
    return []
  }

  func serve(_ pair: StreamPair, _ number: Int, _ peer: SocketAddress) {
    tell(number, "from \(peer)")
    let connection = EchoConnection(
      pair, connectionPlan, on: workers.next(), counts: counts, tell: { [self] in happened(number, $0) },
      finished: { [self] result in perform { $0.finished(number, peer, result) } })
    connections[number] = connection
    connection.begin()
    if servesOnce { stopListening() }
  }

  func endConnections() { for connection in connections.values { connection.stop() } }

  private nonisolated func happened(_ number: Int, _ event: String) {
    tell(number, event)
    if plan.timeout != nil { perform { $0.progress.lastActivity = .now } }
  }

  private func finished(_ number: Int, _ peer: SocketAddress, _ result: EchoConnection.Outcome) {
    connections[number] = nil
    progress.lastActivity = .now
    progress.outcome.connections += 1
    progress.outcome.received += result.count
    progress.outcome.sent += result.count
    tell(number, result.error.map { "\($0)" } ?? "done, \(result.count) bytes")
    if let error = result.error {
      tellUnsecured(peer, error)
      if servesOnce { progress.outcome.failure = Failure(error, during: .read) }
    }
    reportIfDone()
  }
}
