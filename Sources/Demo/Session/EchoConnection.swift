// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A server's side of one connection: sends back what arrives. An actor on the loop that serves it.

import SocketStreams

/// How a connection is served.
struct EchoPlan: Sendable {
  /// Whether the clients are closures. Otherwise they are C callbacks with a context.
  var usesClosures = false
  /// What secures it; `nil` for a connection in plain.
  var security: Security?
  /// Sent after the peer's end, and after the last echo.
  var farewell: (@Sendable (_ count: Int) -> String)?
}

/// One connection that is served.
actor EchoConnection {
  /// What came of a connection.
  struct Outcome: Sendable {
    var count = 0
    var error: StreamError?
  }

  private static let pieceSize = 65_536

  nonisolated let base: EventBase
  private let pair: StreamPair
  private let plan: EchoPlan
  private let counts: ContextCounts
  /// Called with each event, as words, on the connection's thread.
  private let tell: @Sendable (_ event: String) -> Void
  private let finished: @Sendable (Outcome) -> Void

  private var outcome = Outcome()
  /// What arrived and was not taken back yet. While there is something, nothing more is read.
  private var pending: [UInt8] = []
  private var offset = 0
  private var inputHasEnded = false
  private var outputIsClosed = false
  private var isFinished = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  init(
    _ pair: StreamPair, _ plan: EchoPlan, on base: EventBase, counts: ContextCounts,
    tell: @escaping @Sendable (_ event: String) -> Void, finished: @escaping @Sendable (Outcome) -> Void
  ) {
    self.pair = pair
    self.plan = plan
    self.base = base
    self.counts = counts
    self.tell = tell
    self.finished = finished
  }

  /// Serves from now on. Any thread.
  nonisolated func begin() { base.execute { self.assumeIsolated { $0.start() } } }

  /// Cuts the connection. Any thread.
  nonisolated func stop() {
    base.execute {
      self.assumeIsolated { connection in
        connection.pair.abort()
        connection.finish()
      }
    }
  }

  private func start() {
    do {
      try plan.security?.secure(pair)
    } catch {
      return failed("read", error)
    }
    plan.usesClosures ? setClosures() : setCallbacks()
    pair.schedule(on: base)
    pair.open()
  }

  private func setClosures() {
    pair.input.setClient(.all) { [self] _, event in assumeIsolated { $0.inputEvent(event) } }
    pair.output.setClient(.all) { [self] _, event in assumeIsolated { $0.outputEvent(event) } }
  }

  private func setCallbacks() {
    let info = ClientInfo(
      "connection", counts, read: { [self] _, event in assumeIsolated { $0.inputEvent(event) } },
      write: { [self] _, event in assumeIsolated { $0.outputEvent(event) } })
    unsafe pair.input.setClient(.all, callback: ClientInfo.readCallback, context: info.context)
    unsafe pair.output.setClient(.all, callback: ClientInfo.writeCallback, context: info.context)
  }

  // MARK: - Events

  private func inputEvent(_ event: StreamEvent) {
    guard !isFinished else { return }
    switch event {
    case .openCompleted: tell("read \(event)")
    case .hasBytesAvailable: echo(announced: true)
    case .endEncountered:
      tell("read \(event)")
      inputHasEnded = true
      closeIfDone()
    case .errorOccurred: failed("read", pair.input.error)
    case .canAcceptBytes: break
    }
  }

  private func outputEvent(_ event: StreamEvent) {
    guard !isFinished else { return }
    switch event {
    case .openCompleted: tell("write \(event)")
    case .canAcceptBytes:
      tell("write \(event)")
      guard !pending.isEmpty else { return }
      flush()
      if pending.isEmpty { echo(announced: false) }
      closeIfDone()
    case .errorOccurred: failed("write", pair.output.error)
    case .hasBytesAvailable, .endEncountered: break
    }
  }

  private func failed(_ half: String, _ error: StreamError?) {
    tell("\(half) errorOccurred")
    outcome.error = error
    finish()
  }

  // MARK: - Bytes

  /// Reads once and sends it back. A peer that does not read stops this, and with it itself.
  private func echo(announced: Bool) {
    guard pending.isEmpty, !inputHasEnded else { return }
    var piece = [UInt8](repeating: 0, count: Self.pieceSize)
    var memory = piece.mutableSpan
    var bytes = unsafe memory.mutableBytes
    do {
      guard let count = try pair.input.read(into: &bytes) else { return }
      if outcome.count == 0, let security = pair.input.security { tell(security) }
      if announced { tell("read hasBytesAvailable \(count)") }
      outcome.count += count
      pending = Array(piece[..<count])
      flush()
    } catch {
      failed("read", error)
    }
  }

  private func flush() {
    do {
      while offset < pending.count {
        let rest = unsafe pending.span.bytes.extracting(droppingFirst: offset)
        guard let count = try pair.output.write(rest) else { return }
        offset += count
      }
      (pending, offset) = ([], 0)
    } catch {
      failed("write", error)
    }
  }

  private func closeIfDone() {
    guard inputHasEnded, pending.isEmpty, !outputIsClosed, !isFinished else { return }
    outputIsClosed = true
    if let farewell = plan.farewell?(outcome.count) { _ = try? pair.output.write(Array(farewell.utf8)) }
    tell("write close")
    pair.output.close()
    awaitDelivery(after: .milliseconds(1))
  }

  /// Holds the read half until the queue is with the kernel: then the connection is over, and may be counted.
  private func awaitDelivery(after delay: Duration) {
    guard !isFinished else { return }
    if pair.output.property(.queuedByteCount) ?? 0 == 0 { return finish() }
    base.schedule(after: delay) { [weak self] in
      self?.assumeIsolated { $0.awaitDelivery(after: min(delay * 2, .milliseconds(50))) }
    }
  }

  private func finish() {
    guard !isFinished else { return }
    isFinished = true
    pair.close()
    pair.unschedule(from: base)
    finished(outcome)
  }
}
