// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The client of `chat`: carries out on a connection what Chat/ChatConversation.swift decides. An actor on the network's
// loop.

import SocketStreams

/// What `chat` was asked to do.
struct ChatPlan: Sendable {
  var name: String
  /// How many lines are printed once more at the end.
  var history = 0
  var reconnects = false
  var tellsEvents = false
  var isVerbose = false
  /// Whether the lines that come are printed.
  var printsLines = true
}

/// One user's connection, or one after the other.
actor ChatClient: NetworkTask {
  /// A connection.
  private struct Link {
    let connection: FramedConnection
    var isOpen = false
    /// How many lines were written.
    var sent = 0
    var inputIsOver = false
    var outputIsOver = false
  }

  /// How long a server may take to answer before the next line goes out all the same.
  private static let answerLimit = Duration.milliseconds(500)
  /// How long it may take to end the connection after the user has.
  private static let leavingLimit = Duration.seconds(2)
  private static let lineLimit = 65_536
  /// Reading stops while this many bytes wait to be printed.
  private static let printingLimit = 1_048_576

  nonisolated let base: EventBase
  private nonisolated let printer: Printer
  let plan: ChatPlan
  let target: Target
  private let input: ByteSource
  private let counts: ChatCounts
  private let report: ResultBoard.Report

  private var conversation: ChatConversation
  private var effects: [ChatClientEffect] = []
  private var isPerforming = false
  private var typed = TypedLines(limit: ChatMessage.limit)
  private var inputHasEnded = false
  private var history: ChatHistory

  /// Counts connections, so that nothing is taken from one that is over.
  var linkNumber = 0
  private var link: Link?
  var reconnecting: ReconnectingClient?
  private var answerTimer: EventTimer?
  private var unprinted = 0
  private var isPaused = false
  private var outcome = TaskOutcome(connections: 0)
  private var isFinished = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  /// - Parameter input: What is typed.
  init(
    _ plan: ChatPlan, _ target: Target, input: ByteSource, on base: EventBase, printer: Printer,
    counts: ChatCounts, report: @escaping ResultBoard.Report
  ) {
    self.plan = plan
    self.target = target
    self.input = input
    self.base = base
    self.printer = printer
    self.counts = counts
    self.report = report
    conversation = ChatConversation(name: plan.name)
    history = ChatHistory(limit: plan.history)
  }

  private nonisolated func onLoop(_ body: @escaping @Sendable (isolated ChatClient) -> Void) {
    base.execute { self.assumeIsolated(body) }
  }

  nonisolated func begin() {
    onLoop { client in
      client.perform(client.conversation.started())
      client.connect()
    }
  }

  nonisolated func stop(isInterrupted: Bool) {
    onLoop { client in
      client.outcome.isInterrupted = isInterrupted
      client.finish(abruptly: true)
    }
  }

  nonisolated func end() -> [String] { [] }

  // MARK: - The connection

  func use(_ pair: StreamPair) {
    linkNumber += 1
    let number = linkNumber
    let connection = FramedConnection(pair, on: base) { [self] event in
      assumeIsolated { $0.readEvent(event, from: number) }
    } write: { [self] event in
      assumeIsolated { $0.writeEvent(event, from: number) }
    }
    link = Link(connection: connection)
    readLine()
  }

  private func readLine() {
    isPaused = unprinted >= Self.printingLimit
    if !isPaused { link?.connection.reader.read(.line(limit: Self.lineLimit)) }
  }

  private func readEvent(_ event: FramedReadEvent, from number: Int) {
    guard number == linkNumber, link != nil else { return }
    switch event {
    case .opened: opened("read")
    case .frame(let line, _): lineArrived(line)
    case .failed(let error, _):
      // Any other failure is followed by the end.
      guard error.isFrameTooLong else { return }
      fail(Failure(error, "line over \(Self.lineLimit) bytes", during: .read, exitCode: .badData))
    case .ended(let error):
      link?.inputIsOver = true
      ended("read", error, during: .read)
    case .partial, .timeLimitPassed: break
    }
  }

  private func writeEvent(_ event: FramedWriteEvent, from number: Int) {
    guard number == linkNumber, link != nil else { return }
    switch event {
    case .opened: opened("write")
    case .written(let tag):
      if tag == 1, plan.isVerbose, let security = link?.connection.pair.input.security { note(security) }
      tellEvent("write line \(tag)")
      // The first is the name.
      if tag > 1 { perform(conversation.textWasWritten()) }
    case .timeLimitPassed: fail(.timeLimit(during: .write))
    case .ended(let error):
      link?.outputIsOver = true
      ended("write", error, during: .write)
    case .partial, .failed: break
    }
  }

  private func opened(_ half: String) {
    tellEvent("\(half) openCompleted")
    guard let link, !link.isOpen else { return }
    self.link?.isOpen = true
    outcome.connections += 1
    for attempt in link.connection.pair.input.property(.connectAttempts) ?? [] {
      tellEvent(attempt.eventLine)
    }
    if let address = link.connection.pair.input.property(.remoteAddress) { tellEvent("attempt \(address)") }
    if plan.isVerbose, let local = link.connection.pair.input.property(.localAddress), !local.isUnix {
      note("from \(local)")
    }
    perform(conversation.connected())
  }

  /// One half of the connection is over.
  private func ended(_ half: String, _ error: StreamError?, during phase: Phase) {
    guard let link else { return }
    tellEvent(half + (error == nil ? " endEncountered" : " errorOccurred"))
    // A server that could not be trusted once is not asked again, but one that was trusted before is.
    let isRefused = error?.phaseOfSecuring != nil && (reconnecting == nil || linkNumber == 1)
    guard link.isOpen, !isRefused else { return failToConnect(error ?? .frame(.cut, "connect")) }
    if conversation.isLeaving, error == nil {
      if link.inputIsOver, link.outputIsOver { finish(abruptly: false) }
      return
    }
    note("disconnected")
    if reconnecting != nil, !conversation.isLeaving {
      if let error { note("\(error.domain) \(error.code) \(error.reason)") }
      // After that the next attempt is waited for.
      closeLink(abruptly: true)
      return perform(conversation.disconnected())
    }
    let failure =
      error.map { Failure($0, during: phase) }
      ?? Failure(
        .frame(.cut, half), "the server has ended the connection", during: phase, exitCode: .connectionBroke)
    fail(failure)
  }

  // MARK: - What is said

  private func lineArrived(_ line: [UInt8]) {
    let text = String(decoding: line, as: UTF8.self)
    tellEvent("read line \(line.count)")
    counts.lineCame()
    let shown = PlainText.shown(text)
    history.add(shown)
    if plan.printsLines { print(shown) }
    readLine()
    perform(conversation.lineArrived(text))
  }

  private func print(_ text: String) {
    let count = text.utf8.count
    unprinted += count
    printer.tell { [self] printer in
      printer.write(text + "\n")
      onLoop { $0.printed(count) }
    }
  }

  private func printed(_ count: Int) {
    unprinted -= count
    if isPaused { readLine() }
  }

  // MARK: - What is typed

  private func readInput() {
    if let line = typed.next() { return perform(conversation.typed(line)) }
    guard inputHasEnded else { return input.read(at: 0) { [self] piece in onLoop { $0.inputGave(piece) } } }
    perform(typed.finish().map { conversation.typed($0) } ?? conversation.inputEnded())
  }

  private func inputGave(_ piece: ByteSource.Piece) {
    guard !isFinished else { return }
    switch piece {
    case .bytes(let bytes): typed.add(bytes)
    case .end: inputHasEnded = true
    case .failed(let code): return fail(.file(code, input.name, during: .read))
    }
    readInput()
  }

  // MARK: - Decisions carried out

  private func perform(_ new: [ChatClientEffect]) {
    effects += new
    // One effect may bring others; they are done after it, and not inside.
    guard !isPerforming else { return }
    isPerforming = true
    while !effects.isEmpty, !isFinished { perform(effects.removeFirst()) }
    isPerforming = false
  }

  private func perform(_ effect: ChatClientEffect) {
    switch effect {
    case .send(let bytes): send(bytes)
    case .awaitAnswer: awaitAnswer()
    case .readInput: readInput()
    case .note(let text): note(text)
    case .warn(let text): if plan.isVerbose { note(text) }
    case .leave: leave()
    case .end: finish(abruptly: false)
    }
  }

  private func send(_ bytes: [UInt8]) {
    guard let link else { return }
    self.link?.sent += 1
    link.connection.writer.write(bytes, timeout: target.timeout, tag: link.sent + 1)
  }

  private func awaitAnswer() {
    answerTimer?.cancel()
    answerTimer = base.schedule(after: Self.answerLimit) { [weak self] in
      self?.assumeIsolated { $0.perform($0.conversation.answerIsOverdue()) }
    }
  }

  private func leave() {
    tellEvent("write close")
    link?.connection.writer.closeAfterWrites()
    base.schedule(after: min(target.timeout, Self.leavingLimit)) { [weak self] in
      self?.assumeIsolated { client in
        guard let link = client.link else { return }
        // A server that keeps its side open has all the same got everything.
        if link.outputIsOver {
          client.finish(abruptly: false)
        } else {
          client.fail(.timeLimit(during: .write))
        }
      }
    }
  }

  // MARK: - The end

  func fail(_ failure: Failure) {
    outcome.failure = outcome.failure ?? failure
    finish(abruptly: true)
  }

  /// Closes both halves, and lets go of everything.
  private func finish(abruptly: Bool) {
    guard !isFinished else { return }
    isFinished = true
    answerTimer?.cancel()
    reconnecting.take()?.stop()
    closeLink(abruptly: abruptly)
    let lines = history.lines
    printer.tell { printer in for line in lines { printer.write(line + "\n") } }
    report(outcome)
  }

  private func closeLink(abruptly: Bool) {
    guard let link = link.take() else { return }
    outcome.count(link.connection)
    link.connection.close(abruptly: abruptly)
  }

  // MARK: - Telling

  func tellEvent(_ line: String) { if plan.tellsEvents { note(line) } }

  nonisolated func note(_ line: String) { printer.tell { $0.note(line) } }
}
