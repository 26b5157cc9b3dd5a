// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The client of `http10`: sends the requests that are typed, one after the other, over a connection that can be made anew.
// An actor on the network's loop.

import SocketStreams

/// What a client is to do.
struct HTTPPlan: Sendable {
  let target: Target
  /// Where requests are typed.
  let input: ByteSource
  /// The folder for the bodies of replies.
  let folder: String
  /// Whether lines are sent with the ends that they were typed with.
  let keepsLineEnds: Bool
  /// Whether headers and files' names are printed.
  let printsReplies: Bool
  let tellsEvents: Bool
  let isVerbose: Bool
}

/// One client object, however many connections it makes.
actor HTTPClient: NetworkTask {
  private nonisolated let base: EventBase
  private let plan: HTTPPlan
  private let printer: Printer
  private let store: ReplyStore
  private let log: ReplyLog
  private let report: ResultBoard.Report

  private var outcome = TaskOutcome(connections: 0)
  private var isFinished = false
  private var typed: TypedRequests
  private var inputHasEnded = false
  private var connection: FramedConnection?
  private var isOpen = false
  /// Whether a request was sent over the connection.
  private var isUsed = false
  /// Whether its end was told.
  private var isEndTold = false
  private var isSecurityTold = false
  private var exchange: HTTPExchange?

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  /// - Parameter report: Called once, on the network's thread.
  init(
    _ plan: HTTPPlan, on base: EventBase, printer: Printer, log: ReplyLog,
    report: @escaping ResultBoard.Report
  ) {
    self.base = base
    self.plan = plan
    self.printer = printer
    self.log = log
    self.report = report
    store = ReplyStore(on: printer.base, folder: plan.folder)
    typed = TypedRequests(keepsLineEnds: plan.keepsLineEnds)
  }

  private nonisolated func perform(_ body: @escaping @Sendable (isolated HTTPClient) -> Void) {
    base.execute { self.assumeIsolated(body) }
  }

  nonisolated func begin() { perform { $0.connect() } }

  nonisolated func stop(isInterrupted: Bool) {
    perform { client in
      client.outcome.isInterrupted = isInterrupted
      client.finish()
    }
  }

  nonisolated func end() -> [String] { [] }

  // MARK: - The connection

  private func connect() {
    guard !isFinished else { return }
    (isOpen, isUsed, isEndTold, isSecurityTold) = (false, false, false, false)
    do {
      let connection = FramedConnection(try plan.target.makePair(), on: base) { [self] event in
        assumeIsolated { $0.heard(event) }
      } write: { [self] event in
        assumeIsolated { $0.heard(event) }
      }
      self.connection = connection
      connection.pair.open()
    } catch {
      fail(Failure(error, during: .connect))
      finish()
    }
  }

  private func disconnect(abruptly: Bool = false) {
    connection?.close(abruptly: abruptly)
    (connection, isOpen) = (nil, false)
  }

  private func heard(_ event: FramedReadEvent) {
    switch event {
    case .opened: opened()
    case .frame(let bytes, _):
      tellEvent("read frame \(bytes.count)")
      exchange?.assumeIsolated { $0.received(bytes) }
    case .timeLimitPassed(_, _, let count): exchange?.assumeIsolated { $0.timeLimitPassed(count: count) }
    case .failed(let error, _):
      tellEnd(error.isEndOfFrames ? nil : error)
      exchange?.assumeIsolated { $0.failed(error) }
    case .ended(let error): ended(error)
    case .partial: break
    }
  }

  private func heard(_ event: FramedWriteEvent) {
    switch event {
    case .opened: tellEvent("write openCompleted")
    case .written(let count):
      // The tag is the number of its bytes.
      outcome.sent += count
      tellSecurity()
      tellEvent("write taken \(count)")
    // What became of the connection, the reader tells: there may be a reply in spite of this.
    case .failed, .ended: tellEvent("write errorOccurred")
    case .partial, .timeLimitPassed: break
    }
  }

  private func opened() {
    guard let connection, !isOpen else { return }
    isOpen = true
    outcome.connections += 1
    tellEvent("read openCompleted")
    let attempts = connection.pair.input.property(.connectAttempts) ?? []
    for attempt in attempts { tellEvent(attempt.eventLine) }
    let peer = connection.pair.input.property(.remoteAddress)
    if let peer { tellEvent("attempt \(peer)") }
    let place = peer.map(\.description) ?? plan.target.description
    printer.tell { $0.note("connected to \(place)") }
    advance()
  }

  private func tellSecurity() {
    guard !isSecurityTold, plan.isVerbose, let security = connection?.pair.input.security else { return }
    isSecurityTold = true
    printer.tell { $0.note(security) }
  }

  private func tellEnd(_ error: StreamError?) {
    // A time limit and a frame over its limit are no end of the stream.
    let isEnd = error.map { $0.domain != .streams && !$0.isTimedOut } ?? true
    guard !isEndTold, isEnd else { return }
    isEndTold = true
    tellEvent(error == nil ? "read endEncountered" : "read errorOccurred")
  }

  /// The connection is over while nothing is read from it.
  private func ended(_ error: StreamError?) {
    tellEnd(error)
    if let exchange { return exchange.assumeIsolated { $0.connectionEnded(error) } }
    let wasOpen = isOpen
    disconnect()
    guard wasOpen, error?.phaseOfSecuring == nil else {
      if let error {
        if plan.tellsEvents { for attempt in error.attempts { tellEvent(attempt.eventLine) } }
        fail(Failure(error, during: .connect))
      }
      return finish()
    }
    if plan.isVerbose { printer.tell { $0.note("the server has closed the connection") } }
  }

  // MARK: - Requests

  /// Does what was typed next, once nothing is under way.
  private func advance() {
    guard !isFinished, exchange == nil else { return }
    guard let item = typed.next() else { return inputHasEnded ? finish() : readInput() }
    switch item {
    case .reconnect:
      disconnect()
      connect()
    case .request(let request): send(request)
    case .tooLong:
      let text = "a request over \(TypedRequests.limit) bytes"
      fail(Failure(.frame(.tooLong, "read"), text, during: .read, exitCode: .badData))
      finish()
    }
  }

  private func readInput() {
    plan.input.read(at: 0) { [self] piece in perform { $0.inputGave(piece) } }
  }

  private func inputGave(_ piece: ByteSource.Piece) {
    guard !isFinished else { return }
    switch piece {
    case .bytes(let bytes):
      typed.add(bytes)
    case .end:
      inputHasEnded = true
      typed.end()
    case .failed(let code):
      fail(.file(code, plan.input.name, during: .read))
      return finish()
    }
    advance()
  }

  private func send(_ request: TypedRequests.Request) {
    guard let connection, isOpen else {
      fail(isUsed ? .notConnected : Failure(ReplyError.closedBeforeReply))
      return advance()
    }
    isUsed = true
    let exchange = HTTPExchange(
      request, over: connection, timeout: plan.target.timeout, printsHead: plan.printsReplies, on: base,
      printer: printer, store: store
    ) { [self] result in
      assumeIsolated { $0.exchanged(result) }
    }
    self.exchange = exchange
    exchange.assumeIsolated { $0.begin() }
  }

  private func exchanged(_ result: HTTPExchange.Outcome) {
    exchange = nil
    outcome.received += result.received
    log.add(result.record)
    if !result.keepsConnection { disconnect(abruptly: result.failure != nil) }
    if let failure = result.failure {
      fail(failure)
      // No other reply could be kept either.
      if failure.exitCode == .localFile { return finish() }
    }
    // Not at once: a queue of requests that fail must not grow the stack.
    perform { $0.advance() }
  }

  // MARK: - The end

  /// Tells a failure. The first one decides how the program ends.
  private func fail(_ failure: Failure) {
    var failure = failure
    let line = failure.line(for: plan.target.description)
    failure.isTold = true
    outcome.failure = outcome.failure ?? failure
    printer.tell { $0.error(line) }
  }

  private func finish() {
    guard !isFinished else { return }
    isFinished = true
    exchange?.assumeIsolated { $0.cancel() }
    let isBusy = exchange != nil
    exchange = nil
    disconnect(abruptly: isBusy)
    report(outcome)
  }

  private func tellEvent(_ line: String) {
    guard plan.tellsEvents else { return }
    printer.tell { $0.note(line) }
  }
}
