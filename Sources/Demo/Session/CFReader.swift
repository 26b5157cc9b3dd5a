// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// One read stream with a C client, as the tutorials use CFReadStream: the C callback finds its owner through the
// context's pointer. The owner is an actor on the thread 'net'.

import SocketStreams

/// What `cfread` was asked to do besides reading.
struct CFReadPlan: Sendable {
  var mask = StreamEvents()
  var order = ClientOrder.before
  var clearsInCallback = false
  var hasCallback = true
  var polls = false
  var blocks = false
  var stopsNow = false
  var pause: Duration?
  var opensTwice = false
  var tracesContext = false
  var tellsEvents = false
  var isVerbose = false
  /// Whether the main thread prints the text at the end.
  var prints = true
}

/// A read stream and its owner.
actor CFReader: NetworkTask {
  private static let pieceSize = 65_536

  private nonisolated let base: any NetworkLoop
  private nonisolated let stream: any InputHalf
  private nonisolated let plan: CFReadPlan
  private nonisolated let printer: Printer
  private nonisolated let timeout: Duration
  private nonisolated let counts: ContextCounts
  private var clientCount = 0
  private let report: ResultBoard.Report

  private var outcome = TaskOutcome()
  private var text: [UInt8] = []
  private var lastProgress = ContinuousClock.now
  private var isFinished = false
  private var hasToldAttempts = false
  /// Whether the client was removed, or the stream taken off the loop: then no event may come.
  private var isSilenced = false
  private var hasPaused = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  init(
    _ stream: any InputHalf, _ plan: CFReadPlan, timeout: Duration, on base: any NetworkLoop,
    printer: Printer,
    counts: ContextCounts, report: @escaping ResultBoard.Report
  ) {
    self.stream = stream
    self.base = base
    self.plan = plan
    self.printer = printer
    self.counts = counts
    self.report = report
    self.timeout = timeout
  }

  nonisolated func begin() {
    perform { reader in
      if reader.plan.polls { return reader.poll() }
      if reader.plan.blocks { return reader.readBlocking() }
      reader.start()
    }
  }

  nonisolated func stop(isInterrupted: Bool) {
    // Ends a blocking read too, which keeps the network's thread.
    if plan.blocks { stream.close() }
    perform { reader in
      reader.outcome.isInterrupted = isInterrupted
      reader.finish()
    }
  }

  nonisolated func end() -> [String] {
    stream.close()
    guard plan.tracesContext else { return [] }
    return ["retain \(counts.retains) release \(counts.releases)"]
  }

  // MARK: - With a loop

  private func start() {
    if plan.order != .after { setClient() }
    stream.schedule()
    tell("scheduled")
    tell("opening")
    open()
    tell("error right after open: \(stream.error.map(\.description) ?? "none")")
    if plan.order != .before { setClient() }
    if plan.stopsNow {
      // Kept until the loop comes to it: it ends at once, with the stream still scheduled.
      base.stop()
      isFinished = true
      return report(outcome)
    }
    watch(after: timeout)
  }

  private func open() {
    let answer = stream.open()
    if plan.opensTwice { note("open \(answer), open again \(stream.open())") }
  }

  private func setClient() {
    clientCount += 1
    let number = clientCount
    let info = ClientInfo(
      "\(number)", counts, event: { [self] event in assumeIsolated { $0.happened(event) } },
      trace: { [plan, printer] verb in
        if plan.tracesContext { printer.tell { $0.note("context \(number) \(verb)") } }
      })
    let answer = stream.setClient(plan.mask, info, hasCallback: plan.hasCallback)
    tell("client set: \(answer)")
  }

  private func happened(_ event: StreamEvent) {
    guard !isSilenced else { return note("event after it was ended: \(event)") }
    guard !isFinished else { return }
    lastProgress = .now
    tellAttempts()
    switch event {
    case .openCompleted, .canAcceptBytes: tell("net: read \(event)")
    case .hasBytesAvailable: bytesArrived()
    case .endEncountered:
      tell("net: read \(event)")
      finish()
    case .errorOccurred:
      tell("net: read \(event)")
      failed(stream.error)
    }
    if plan.clearsInCallback, !isFinished { removeClient() }
  }

  private func bytesArrived() {
    // Before a pause one byte only, so that others are waiting while the stream is off the loop.
    let limit = plan.pause != nil && !hasPaused ? 1 : Self.pieceSize
    do {
      guard let count = try read(limit) else { return }
      tell("net: read hasBytesAvailable \(count)")
      let start = String(decoding: text.suffix(count).prefix(60), as: UTF8.self)
      if count > 0 { tell("net: text \(JSONValue.string(start).text)") }
    } catch {
      return failed(error)
    }
    if let pause = plan.pause, !hasPaused { takeOff(for: pause) }
  }

  private func takeOff(for pause: Duration) {
    hasPaused = true
    isSilenced = true
    stream.unschedule()
    note("unscheduled")
    base.schedule(after: pause) { [self] in
      assumeIsolated { reader in
        guard !reader.isFinished else { return }
        reader.isSilenced = false
        reader.note("scheduled again")
        reader.stream.schedule()
      }
    }
  }

  private func removeClient() {
    isSilenced = true
    stream.removeClient()
    note("client removed, released in its own callback: \(counts.areBalanced)")
    // Long enough for a call that should not come, with bytes or an end on their way.
    base.schedule(after: .milliseconds(200)) { [self] in assumeIsolated { $0.finish() } }
  }

  // MARK: - Without a loop

  /// Asks every 10 ms whether bytes are there.
  private func poll() {
    open()
    watch(after: timeout)
    base.schedule(after: .milliseconds(10), repeating: true) { [weak self] in
      self?.assumeIsolated { $0.ask() }
    }
  }

  private func ask() {
    guard !isFinished else { return }
    do {
      while stream.hasBytesAvailable {
        tellAttempts()
        let count = try read(Self.pieceSize) ?? 0
        note("polled: read \(count)")
        if count == 0 { return finish() }
      }
    } catch {
      return failed(error)
    }
    if stream.status == .error { failed(stream.error) }
    if stream.status == .atEnd { finish() }
  }

  /// Reads as CF does: each read waits until there is something.
  private func readBlocking() {
    open()
    while !isFinished {
      do {
        guard let count = try readWaiting() else { return expired() }
        tellAttempts()
        note("read \(count)")
        if count == 0 { finish() }
      } catch {
        tellAttempts()
        guard stream.status != .closed else { return finish() }
        note("read -1")
        failed(error)
      }
    }
  }

  // MARK: - Both

  private func read(_ limit: Int) throws(StreamError) -> Int? {
    try take(limit) { (bytes) throws(StreamError) in try stream.read(into: &bytes) }
  }

  /// As ``read(_:)``, but waits; `nil` after the time limit.
  private func readWaiting() throws(StreamError) -> Int? {
    try take(Self.pieceSize) { (bytes) throws(StreamError) in
      try stream.readWaiting(into: &bytes, timeout: timeout)
    }
  }

  private func take(
    _ limit: Int, _ read: (inout MutableRawSpan) throws(StreamError) -> Int?
  ) throws(StreamError) -> Int? {
    var piece = [UInt8](repeating: 0, count: limit)
    var memory = piece.mutableSpan
    var bytes = unsafe memory.mutableBytes
    guard let count = try read(&bytes) else { return nil }
    if text.isEmpty, plan.isVerbose, let security = stream.security { note(security) }
    text += piece[..<count]
    lastProgress = .now
    return count
  }

  private func failed(_ error: StreamError?) {
    guard let error else { return }
    tell("failed: \(error.domain) \(error.code)")
    outcome.failure = Failure(error, during: error.operation.hasPrefix("read") ? .read : .connect)
    finish()
  }

  private func watch(after delay: Duration) {
    base.schedule(after: delay) { [weak self] in self?.assumeIsolated { $0.lookForProgress() } }
  }

  private func lookForProgress() {
    guard !isFinished else { return }
    let rest = timeout - (ContinuousClock.now - lastProgress)
    rest <= .zero ? expired() : watch(after: rest)
  }

  private func expired() {
    outcome.failure = .timeLimit(during: stream.status == .opening ? .connect : .read)
    finish()
  }

  private func finish() {
    guard !isFinished else { return }
    isFinished = true
    stream.unschedule()
    stream.close()
    outcome.received = text.count
    if plan.prints {
      let text = text
      printer.tell { $0.received(text) }
    }
    report(outcome)
  }

  // MARK: - Telling

  private nonisolated func perform(_ body: @escaping @Sendable (isolated CFReader) -> Void) {
    base.execute { self.assumeIsolated(body) }
  }

  private func tellAttempts() {
    guard plan.tellsEvents, !hasToldAttempts, stream.status != .opening else { return }
    hasToldAttempts = true
    for attempt in stream.attempts { tell(attempt.eventLine) }
    if let address = stream.peer { tell("attempt \(address)") }
  }

  private func tell(_ line: String) { if plan.tellsEvents { note(line) } }

  private func note(_ line: String) { printer.tell { $0.note(line) } }
}
