// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the servers of `echod` and `chatd` share: they listen, number their clients and tell of them, end when nothing
// happens for too long, and report once the last client has gone.

import SocketStreams

/// What a server was asked to do, whatever it serves.
struct ServerPlan: Sendable {
  let address: SocketAddress
  /// What secures connections; `nil` for connections in plain.
  let security: Security?
  /// How long nothing may happen; `nil` for ever.
  let timeout: Duration?
  let tellsEvents: Bool
  /// Whether it is told who could not be secured.
  let isVerbose: Bool
  /// Whether the line with the address is data.
  let printsAddress: Bool
}

/// How far a server is.
struct ServerProgress {
  var outcome = TaskOutcome(connections: 0)
  var lastActivity = ContinuousClock.now
  fileprivate var listener: Listener?
  fileprivate var accepted = 0
  fileprivate var isEnding = false
  fileprivate var hasReported = false
}

/// A listener and its clients, on the loop of the network's thread.
protocol Server: Actor, NetworkTask {
  nonisolated var base: EventBase { get }
  nonisolated var plan: ServerPlan { get }
  nonisolated var printer: Printer { get }
  nonisolated var report: ResultBoard.Report { get }
  var progress: ServerProgress { get set }
  /// How many clients there are.
  var clientCount: Int { get }

  /// Serves a client that has come.
  func serve(_ pair: StreamPair, _ number: Int, _ peer: SocketAddress)
  /// Ends all connections soon.
  func endConnections()
}

extension Server {
  nonisolated func begin() { perform { $0.listen() } }

  nonisolated func stop(isInterrupted: Bool) {
    perform { server in
      server.progress.outcome.isInterrupted = isInterrupted
      server.close()
    }
  }

  /// Does `body` on the server's thread soon.
  nonisolated func perform(_ body: @escaping @Sendable (isolated Self) -> Void) {
    base.execute { self.assumeIsolated(body) }
  }

  private func listen() {
    do {
      let listener = try Listener(address: plan.address, backlog: 1_024)
      progress.listener = listener
      let line = "listening on \(listener.localAddress)"
      let isData = plan.printsAddress
      printer.tell { isData ? $0.write(line + "\n") : $0.note(line) }
      listener.schedule(on: base) { [self] pair, peer in assumeIsolated { $0.accept(pair, peer) } }
      if let timeout = plan.timeout { watch(after: timeout) }
    } catch {
      progress.outcome.failure = Failure(error, during: .listen)
      close()
    }
  }

  private func accept(_ pair: StreamPair, _ peer: SocketAddress) {
    guard !progress.isEnding else { return }
    progress.accepted += 1
    progress.lastActivity = .now
    serve(pair, progress.accepted, peer)
  }

  // MARK: - Time and the end

  private func watch(after delay: Duration) {
    base.schedule(after: delay) { [weak self] in self?.assumeIsolated { $0.lookForActivity() } }
  }

  private func lookForActivity() {
    guard !progress.hasReported, let timeout = plan.timeout else { return }
    let rest = timeout - (ContinuousClock.now - progress.lastActivity)
    guard rest <= .zero else { return watch(after: rest) }
    progress.outcome.failure = .timeLimit(during: clientCount == 0 ? .listen : .read)
    close()
  }

  private func close() {
    stopListening()
    endConnections()
    reportIfDone()
  }

  /// Takes no further client, and ends with the last of them.
  func stopListening() {
    progress.isEnding = true
    progress.listener.take()?.close()
  }

  /// Reports if that was the last client.
  func reportIfDone() {
    guard progress.isEnding, clientCount == 0, !progress.hasReported else { return }
    progress.hasReported = true
    report(progress.outcome)
  }

  // MARK: - Telling

  /// Tells an event of a client's connection.
  nonisolated func tell(_ number: Int, _ text: @autoclosure () -> String) {
    guard plan.tellsEvents else { return }
    let line = "\(number): \(text())"
    printer.tell { $0.note(line) }
  }

  /// Tells who could not be secured, and why, unless that is told as an event.
  nonisolated func tellUnsecured(_ peer: SocketAddress, _ error: StreamError) {
    guard plan.isVerbose, !plan.tellsEvents, error.phaseOfSecuring != nil else { return }
    printer.tell { $0.note("\(peer): \(error)") }
  }
}
