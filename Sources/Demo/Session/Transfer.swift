// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// One connection of `send`, `receive` or `connect`, from open to close. An actor on the network's loop: stream events
// and timers reach it there, without a hop.

import SocketStreams

/// One connection.
actor Transfer: NetworkTask {
  /// Reading stops while this many bytes wait to be printed.
  private static let printingLimit = 1_048_576

  private nonisolated let base: any NetworkLoop
  private let makeStreams: @Sendable () throws(StreamError) -> any ConnectionStreams
  private let timeout: Duration
  private let plan: TransferPlan
  private let printer: Printer
  private let report: ResultBoard.Report

  private var streams: (any ConnectionStreams)?
  private var outcome = TaskOutcome()
  private var isOpen = false
  /// Whether bytes can go: the connection is secured, if it is to be.
  private var isReady = false
  private var isPreambleTold = false
  private var lastProgress = ContinuousClock.now
  private var watchdog: (any LoopTimer)?

  // Reading
  private var inputHasEnded = false
  private var unprinted = 0
  private var scratch = [UInt8](repeating: 0, count: 65_536)

  // Writing
  private var mayWrite = false
  private var piece: [UInt8] = []
  private var pieceOffset = 0
  private var sourceOffset = 0
  private var waitsForSource = false
  private var suffixIsGiven = false
  private var sourceHasEnded = false
  private var outputIsClosed = false
  private var outputIsDelivered = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  /// - Parameters:
  ///   - report: Called once, on the network's thread.
  ///   - makeStreams: Makes the streams that are not open yet, on the network's thread.
  init(
    _ plan: TransferPlan, timeout: Duration, on base: any NetworkLoop, printer: Printer,
    report: @escaping ResultBoard.Report,
    makeStreams: @escaping @Sendable () throws(StreamError) -> any ConnectionStreams
  ) {
    self.base = base
    self.makeStreams = makeStreams
    self.timeout = timeout
    self.plan = plan
    self.printer = printer
    self.report = report
  }

  /// Does `body` on the network's thread soon.
  private nonisolated func perform(_ body: @escaping @Sendable (isolated Transfer) -> Void) {
    base.execute { self.assumeIsolated(body) }
  }

  nonisolated func begin() { perform { $0.connect() } }

  nonisolated func stop(isInterrupted: Bool) {
    perform { transfer in
      transfer.outcome.isInterrupted = isInterrupted
      transfer.finish(abruptly: true)
    }
  }

  nonisolated func end() -> [String] { [] }

  private func connect() {
    if let bytes = plan.source?.bytes { (piece, sourceHasEnded) = (bytes, true) }
    do {
      let streams = try makeStreams()
      self.streams = streams
      streams.begin { [self] event in
        assumeIsolated { $0.inputEvent(event) }
      } output: { [self] event in
        assumeIsolated { $0.outputEvent(event) }
      }
    } catch {
      outcome.failure = Failure(error, during: .connect)
      return report(outcome)
    }
    watch(after: timeout)
  }

  // MARK: - Events

  private func inputEvent(_ event: StreamEvent) {
    switch event {
    case .openCompleted:
      opened()
      tellEvent("read", event)
    case .hasBytesAvailable:
      ready()
      readInput(announcing: event)
    case .endEncountered:
      ready()
      tellEvent("read", event)
      inputHasEnded = true
      progressed()
      if plan.isConversation, !outputIsClosed {
        tell("end, \(outcome.received) bytes; the input is still sent")
      }
      if plan.sendsAfterEnd { mayWrite = true }
      writeOutput()
      finishIfDone()
    case .errorOccurred: failed("read", streams?.inputError)
    case .canAcceptBytes: break
    }
  }

  private func outputEvent(_ event: StreamEvent) {
    switch event {
    case .openCompleted:
      opened()
      tellEvent("write", event)
    case .canAcceptBytes:
      ready()
      tellEvent("write", event)
      mayWrite = mayWrite || !plan.sendsAfterEnd
      writeOutput()
    case .errorOccurred: failed("write", streams?.outputError)
    case .hasBytesAvailable, .endEncountered: break
    }
  }

  private func opened() {
    progressed()
    guard !isOpen, let streams else { return }
    isOpen = true
    if plan.tellsEvents {
      for attempt in streams.attempts { tell(attempt.eventLine) }
      if let address = streams.peer { tell("attempt \(address)") }
    }
    if plan.isVerbose, let local = streams.local, !local.isUnix { tell("from \(local)") }
    tellPreamble()
  }

  /// Tells what was said in plain before, once.
  private func tellPreamble() {
    guard plan.isVerbose, !isPreambleTold, let streams else { return }
    isPreambleTold = true
    for line in streams.preamble { tell(line) }
  }

  private func ready() {
    if !isReady, plan.isVerbose, let security = streams?.security { tell(security) }
    isReady = true
  }

  private func failed(_ half: String, _ error: StreamError?) {
    tellPreamble()
    tellEvent(half, .errorOccurred)
    guard let error else { return }
    if isOfNoConsequence(error) { return finish() }
    let phase = half == "read" ? Phase.read : .write
    fail(error, during: isOpen ? phase : streams?.openingPhase ?? .connect)
  }

  /// Whether the server has everything, and what it would have said is not waited for: then it may end without saying so.
  private func isOfNoConsequence(_ error: StreamError) -> Bool {
    guard error.tls == .closedWithoutNotice, outputIsClosed, !plan.waitsForEnd else { return false }
    return (try? streams?.isDelivered()) == true
  }

  private func fail(_ error: StreamError, during phase: Phase) {
    if plan.tellsEvents, !isOpen { for attempt in error.attempts { tell(attempt.eventLine) } }
    outcome.failure = outcome.failure ?? Failure(error, during: phase)
    guard plan.isConversation, phase == .write, !inputHasEnded else { return finish() }
    // What the peer had sent is read first; behind it comes the end, or the failure, of the read stream.
    (outputIsClosed, outputIsDelivered) = (true, true)
  }

  // MARK: - Reading

  /// Reads once; the stream then says when there is more. Also called without an event, to go on after a pause.
  private func readInput(announcing event: StreamEvent? = nil) {
    guard let streams, unprinted < Self.printingLimit else {
      if let event { tellEvent("read", event) }
      return
    }
    do {
      var memory = scratch.mutableSpan
      var bytes = unsafe memory.mutableBytes
      guard let count = try streams.read(into: &bytes) else { return }
      if let event { tellEvent("read", event, count) }
      guard count > 0 else { return }
      outcome.received += count
      progressed()
      if plan.countsInput { printer.tell { $0.advance(count) } }
      if plan.printsInput { print(Array(scratch[..<count])) }
    } catch {
      fail(error, during: .read)
    }
  }

  private func print(_ bytes: [UInt8]) {
    unprinted += bytes.count
    printer.tell { [self] printer in
      printer.received(bytes)
      perform { $0.printed(bytes.count) }
    }
  }

  private func printed(_ count: Int) {
    let wasPaused = unprinted >= Self.printingLimit
    unprinted -= count
    progressed()
    if wasPaused, unprinted < Self.printingLimit, !inputHasEnded { readInput() }
  }

  // MARK: - Writing

  /// Writes until the stream is full, the source has to be waited for, or all is written.
  private func writeOutput() {
    guard mayWrite, plan.source != nil, !outputIsClosed, !waitsForSource, let streams else { return }
    do {
      while pieceOffset < piece.count {
        let rest = unsafe piece.span.bytes.extracting(droppingFirst: pieceOffset)
        guard let count = try streams.write(rest) else { return }
        pieceOffset += count
        outcome.sent += count
        progressed()
        if !plan.countsInput { printer.tell { $0.advance(count) } }
      }
    } catch {
      return fail(error, during: .write)
    }
    guard let source = plan.source, !sourceHasEnded else { return closeOutput() }
    waitsForSource = true
    source.read(at: sourceOffset) { [self] next in perform { $0.sourceGave(next) } }
  }

  private func sourceGave(_ next: ByteSource.Piece) {
    guard streams != nil else { return }
    waitsForSource = false
    progressed()
    switch next {
    case .bytes(let bytes):
      (piece, pieceOffset) = (bytes, 0)
      sourceOffset += bytes.count
    case .end where !suffixIsGiven:
      suffixIsGiven = true
      (piece, pieceOffset) = (plan.source?.suffix ?? [], 0)
    case .end: sourceHasEnded = true
    case .failed(let code):
      outcome.failure = .file(code, plan.source?.name ?? "", during: .read)
      return finish(abruptly: true)
    }
    writeOutput()
  }

  private func closeOutput() {
    guard !outputIsClosed, let streams else { return }
    outputIsClosed = true
    if plan.tellsEvents { tell("write close") }
    streams.closeOutput()
    awaitDelivery(after: .milliseconds(1))
  }

  /// Asks, less and less often, whether the peer's system has acknowledged everything. No event tells this.
  private func awaitDelivery(after delay: Duration) {
    guard let streams, !outputIsDelivered else { return }
    do {
      outputIsDelivered = try streams.isDelivered()
    } catch {
      return fail(error, during: .write)
    }
    if outputIsDelivered {
      progressed()
      return finishIfDone()
    }
    base.schedule(after: delay) { [weak self] in
      self?.assumeIsolated { $0.awaitDelivery(after: min(delay * 2, .milliseconds(50))) }
    }
  }

  // MARK: - Time

  private func progressed() { lastProgress = .now }

  /// One timer for all waits: it looks whether something has moved, and if so waits for the rest.
  private func watch(after delay: Duration) {
    watchdog = base.schedule(after: delay) { [weak self] in self?.assumeIsolated { $0.lookForProgress() } }
  }

  private func lookForProgress() {
    guard streams != nil else { return }
    // What waits for the printer, or for the user's own input, is no wait for the peer.
    let hasInput = waitsForSource || (plan.isConversation && isOpen && !sourceHasEnded)
    let waitsForUser = unprinted >= Self.printingLimit || (hasInput && outcome.failure == nil)
    if waitsForUser { progressed() }
    // Connecting, and agreeing to TLS, have the library's own limits, which know what was tried; they come first.
    let limit = isReady ? timeout : timeout + .milliseconds(500)
    let rest = limit - (ContinuousClock.now - lastProgress)
    guard rest <= .zero else { return watch(after: rest) }
    outcome.failure = outcome.failure ?? timeLimit()
    finish(abruptly: true)
  }

  private func timeLimit() -> Failure {
    guard isOpen else { return .timeLimit(during: streams?.openingPhase ?? .connect) }
    guard plan.source != nil, !outputIsDelivered, mayWrite else { return .timeLimit(during: .read) }
    let total = plan.source?.count.map { " of \($0)" } ?? ""
    return .timeLimit(during: .write, note: "taken \(outcome.sent)\(total) bytes")
  }

  // MARK: - The end

  private func finishIfDone() {
    let isSent = plan.source == nil ? inputHasEnded : outputIsDelivered
    if isSent, inputHasEnded || !plan.waitsForEnd { finish() }
  }

  /// Closes both halves, takes them off the loop, and lets go of everything.
  private func finish(abruptly: Bool = false) {
    tellPreamble()
    guard let streams = streams.take() else { return }
    watchdog?.cancel()
    streams.end(abruptly: abruptly)
    report(outcome)
  }

  // MARK: - Telling

  private func tellEvent(_ half: String, _ event: StreamEvent, _ count: Int? = nil) {
    guard plan.tellsEvents else { return }
    tell("\(half) \(event)" + (count.map { " \($0)" } ?? ""))
  }

  private func tell(_ line: String) { printer.tell { $0.note(line) } }
}

extension ConnectAttempt {
  /// The line of `--events` for an address that was tried in vain.
  var eventLine: String { "attempt \(address) \(StreamError.posix(code, "connect").reason)" }
}
