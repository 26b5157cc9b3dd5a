// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// One request and its reply, over frames. What to read next, and what it means, is ReplyReader's business; this reads it,
// shows the header and has the body stored. An actor on the network's loop.

import SocketStreams

/// One request and its reply.
actor HTTPExchange {
  /// What came of it.
  struct Outcome: Sendable {
    var record = ReplyRecord()
    var failure: Failure?
    /// Bytes that arrived.
    var received = 0
    /// Whether another request may follow over the same connection.
    var keepsConnection = false
  }

  private nonisolated let base: EventBase
  private let request: TypedRequests.Request
  private let connection: FramedConnection
  private let timeout: Duration
  private let printsHead: Bool
  private let printer: Printer
  private let store: ReplyStore
  private let report: @Sendable (Outcome) -> Void

  private var reply: ReplyReader
  private var head: ReplyHead?
  private var isStoring = false
  private var outcome = Outcome()
  private var isOver = false
  /// Bytes that were there when the first read began to wait, or when it was given more time.
  private var waitedCount = 0
  private var isLate = false
  /// Why no further read will be answered.
  private var over: StreamError?

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  /// - Parameter report: Called once, on the network's thread, unless ``cancel()`` comes first.
  init(
    _ request: TypedRequests.Request, over connection: FramedConnection, timeout: Duration, printsHead: Bool,
    on base: EventBase, printer: Printer, store: ReplyStore, report: @escaping @Sendable (Outcome) -> Void
  ) {
    self.base = base
    self.request = request
    self.connection = connection
    self.timeout = timeout
    self.printsHead = printsHead
    self.printer = printer
    self.store = store
    self.report = report
    reply = ReplyReader(method: request.method)
  }

  private nonisolated func perform(_ body: @escaping @Sendable (isolated HTTPExchange) -> Void) {
    base.execute { self.assumeIsolated(body) }
  }

  // MARK: - Reading

  /// Sends the request, and reads the reply.
  func begin() {
    connection.writer.write(request.bytes, tag: request.bytes.count)
    read(reply.start())
  }

  private func read(_ step: ReplyReader.Step) {
    if let over, step != .done { return failed(over) }
    waitedCount = connection.reader.bufferedByteCount
    switch step {
    case .line(let limit):
      connection.reader.read(.through([ReplyText.lineFeed], limit: limit), timeout: timeout)
    case .piece(let limit): connection.reader.read(.available(upTo: limit), timeout: timeout)
    case .done: end()
    }
  }

  /// What a read brought.
  func received(_ frame: [UInt8]) {
    outcome.received += frame.count
    if reply.isInHead { show(frame) }
    do {
      let turn = try reply.received(frame)
      switch turn.content {
      case .framing: read(turn.next)
      case .head(let head):
        begin(head)
        read(turn.next)
      case .body(let bytes): store(bytes, andThen: turn.next)
      }
    } catch {
      fail(Failure(error))
    }
  }

  private func show(_ line: [UInt8]) {
    guard printsHead else { return }
    var decoder = UTF8Decoder()
    let text = PlainText.shown(decoder.decode(Array(ReplyText.withoutEnd(line))) + decoder.finish())
    guard !text.isEmpty else { return }
    printer.tell { $0.write(text + "\n") }
  }

  private func begin(_ head: ReplyHead) {
    guard !head.isInterim else { return }
    self.head = head
    outcome.record.status = head.status
    // The body of anything but a success is about what went wrong, and is no document to keep.
    isStoring = (200..<300).contains(head.status) && (try? head.body(after: request.method)) != ReplyBody.none
    if isStoring { store.begin(head.fileName) }
  }

  /// The next read waits for the disk, so that a fast server cannot fill the memory.
  private func store(_ bytes: [UInt8], andThen next: ReplyReader.Step) {
    guard isStoring else { return read(next) }
    store.write(bytes) { [self] result in
      perform { exchange in
        guard !exchange.isOver else { return }
        if case .failed(let failure) = result { exchange.finish(failure) } else { exchange.read(next) }
      }
    }
  }

  // MARK: - What ends it

  /// The wait has reached its limit. If bytes have come meanwhile, it goes on.
  func timeLimitPassed(count: Int) {
    isLate = count <= waitedCount
    waitedCount = count
    if !isLate { connection.reader.extendTime(by: timeout) }
  }

  /// The connection is over; nothing was being read at that moment.
  func connectionEnded(_ error: StreamError?) { over = error ?? .frame(.cut, "read") }

  /// A read was not answered.
  func failed(_ error: StreamError) {
    let rest = connection.reader.takeBuffered()
    outcome.received += rest.count
    if error.isFrameTooLong { return fail(Failure(reply.tooLong(rest))) }
    if reply.isInHead { show(rest) }
    if isLate { return fail(.timeLimit(during: .read, note: waitedFor(rest))) }
    guard error.isEndOfFrames else { return fail(Failure(error, during: .read)) }
    do {
      try reply.ended(leaving: rest)
      end()
    } catch {
      fail(Failure(error))
    }
  }

  private func waitedFor(_ rest: [UInt8]) -> String {
    if outcome.received > 0 { return "the reply stopped after \(outcome.received) bytes" }
    return request.isWhole ? "no reply came" : "no reply came to a request without a blank line at its end"
  }

  /// The reply is whole.
  private func end() {
    // A reply that ends with the connection has no rest.
    let rest = connection.reader.takeBuffered().count
    if rest > 0 { printer.tell { $0.note("\(rest) bytes after the end of the reply are ignored") } }
    outcome.keepsConnection = rest == 0 && !reply.endsWithConnection && head?.isLast == false
    guard isStoring else { return finish(statusFailure) }
    endFile(isWhole: true) { exchange, path, count in
      exchange.outcome.record.path = path
      if exchange.printsHead { exchange.printer.tell { $0.write("saved \(path) (\(count) bytes)\n") } }
      exchange.finish(exchange.statusFailure)
    }
  }

  private var statusFailure: Failure? {
    head.flatMap { $0.status >= 400 ? Failure(status: $0) : nil }
  }

  private func fail(_ failure: Failure) {
    guard isStoring else { return finish(failure) }
    endFile(isWhole: false) { exchange, path, count in
      var failure = failure
      failure.note = (failure.note.map { $0 + "; " } ?? "") + "\(count) bytes are kept as \(path)"
      exchange.finish(failure)
    }
  }

  private func endFile(
    isWhole: Bool,
    _ ended: @escaping @Sendable (_ exchange: isolated HTTPExchange, _ path: String, _ count: Int) -> Void
  ) {
    store.end(isWhole: isWhole) { [self] result in
      perform { exchange in
        guard !exchange.isOver else { return }
        switch result {
        case .done: exchange.finish(exchange.statusFailure)
        case .file(let path, let count): ended(exchange, path, count)
        case .failed(let failure): exchange.finish(failure)
        }
      }
    }
  }

  private func finish(_ failure: Failure?) {
    guard !isOver else { return }
    isOver = true
    outcome.failure = failure
    outcome.record.count = reply.bodyCount
    if let failure, failure.exitCode != .httpStatus { outcome.keepsConnection = false }
    if over != nil { outcome.keepsConnection = false }
    report(outcome)
  }

  /// Ends it without a report. What has been stored stays, as far as it goes.
  func cancel() {
    isOver = true
    if isStoring { store.end(isWhole: false) { _ in } }
  }
}
