// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The tour: a server and a client in one process. The main thread directs it; what happens is told with the thread on
// which it happened.

import SocketStreams

/// The tour, on the main thread's loop.
actor Tour: NetworkTask {
  private enum Step { case connecting, echo, echoAfterMove, end }

  private static let limit = Duration.seconds(10)
  private static let greeting = Array("Hello from the client\n".utf8)
  private static let second = Array("Hello from another thread\n".utf8)

  private nonisolated let base: EventBase
  private nonisolated let printer: Printer
  private nonisolated let server: EventBase
  private nonisolated let client: EventBase
  private nonisolated let other: EventBase
  private nonisolated let counts: ContextCounts
  private let options: ConnectionOptions
  private let report: ResultBoard.Report

  private var listener: Listener?
  private var connection: EchoConnection?
  private var pair: StreamPair?
  private var step = Step.connecting
  private var awaited: [UInt8] = []
  private var outcome = TaskOutcome()
  private var events = 0
  private var threads: Set<String> = []
  private var clientIsDone = false
  private var serverIsDone = false
  private var hasReported = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  /// - Parameter server: The base of the server's thread. The client's two are made here.
  init(
    _ options: ConnectionOptions, server: EventBase, printer: Printer, counts: ContextCounts,
    report: @escaping ResultBoard.Report
  ) throws(StreamError) {
    base = printer.base
    self.printer = printer
    self.server = server
    client = try EventBase.startThread(named: "client")
    other = try EventBase.startThread(named: "second")
    self.counts = counts
    self.options = options
    self.report = report
  }

  nonisolated func begin() { perform { $0.start() } }

  nonisolated func stop(isInterrupted: Bool) {
    perform { tour in
      tour.outcome.isInterrupted = isInterrupted
      tour.cut()
    }
  }

  nonisolated func end() -> [String] {
    for base in [client, other] {
      base.stop()
      base.join()
    }
    return []
  }

  nonisolated func details() -> [String] {
    base.sync { self.assumeIsolated { ["\($0.events) events on \($0.threads.count) threads"] } }
  }

  // MARK: - The two sides

  private func start() {
    base.schedule(after: Self.limit) { [weak self] in
      self?.assumeIsolated { $0.failed(.timeLimit(during: $0.step == .connecting ? .connect : .read)) }
    }
    // Cannot be nil: this is a numeric address.
    guard let loopback = SocketAddress(ip: "127.0.0.1", port: 0) else { return }
    do {
      let listener = try Listener(address: loopback)
      self.listener = listener
      listener.schedule(on: server) { [self] pair, peer in
        happened("server", "accepted a connection", isEvent: false)
        serve(pair)
      }
      tell(
        "[main]   listening on \(listener.localAddress); the server's thread is 'server', the client's is 'client'"
      )
      connect(to: listener.localAddress)
    } catch {
      failed(Failure(error, during: .listen))
    }
  }

  /// Server: closures that send back what arrives, and a last line after the client's end.
  private nonisolated func serve(_ pair: StreamPair) {
    let plan = EchoPlan(usesClosures: true, farewell: { "You sent \($0) bytes\n" })
    let connection = EchoConnection(
      pair, plan, on: server, counts: counts, tell: { [self] event in happened("server", event) },
      finished: { [self] _ in
        perform { tour in
          tour.serverIsDone = true
          tour.reportIfDone()
        }
      })
    connection.begin()
    perform { $0.connection = connection }
  }

  /// Client: C callbacks, whose context leads back here.
  private func connect(to address: SocketAddress) {
    let pair = StreamPair(address: address, options: options)
    self.pair = pair
    let info = ClientInfo(
      "tour", counts, read: { [self] stream, event in readEvent(stream, event) },
      write: { [self] _, event in writeEvent(event) })
    unsafe pair.input.setClient(.all, callback: ClientInfo.readCallback, context: info.context)
    unsafe pair.output.setClient(.all, callback: ClientInfo.writeCallback, context: info.context)
    pair.schedule(on: client)
    pair.open()
  }

  // MARK: - The client's events, on its threads

  private nonisolated func readEvent(_ stream: ReadStream, _ event: StreamEvent) {
    let thread = thread
    guard event == .hasBytesAvailable else {
      happened(thread, "read \(event)")
      return perform { $0.clientTold(event, stream.error) }
    }
    var bytes: [UInt8] = []
    stream.withAvailableBytes { lent in
      bytes = unsafe lent.withUnsafeBytes { unsafe Array($0) }
      return bytes.count
    }
    let text = JSONValue.string(String(decoding: bytes, as: UTF8.self)).text
    happened(thread, "read \(event) \(bytes.count) \(text)")
    let arrived = bytes
    perform { $0.arrived(arrived) }
  }

  private nonisolated func writeEvent(_ event: StreamEvent) {
    happened(thread, "write \(event)")
    perform { tour in
      event == .canAcceptBytes ? tour.mayWrite() : tour.clientTold(event, tour.pair?.output.error)
    }
  }

  /// The thread that delivers.
  private nonisolated var thread: String {
    client.isCurrent ? "client" : other.isCurrent ? "second" : "an unknown thread"
  }

  // MARK: - The director

  private func mayWrite() {
    guard step == .connecting else { return }
    send(Self.greeting, then: .echo)
  }

  private func arrived(_ bytes: [UInt8]) {
    outcome.received += bytes.count
    awaited.removeFirst(min(bytes.count, awaited.count))
    guard awaited.isEmpty, let pair else { return }
    switch step {
    case .echo:
      tell("[main]   moving both halves to the base of the thread 'second'")
      pair.schedule(on: other)
      send(Self.second, then: .echoAfterMove)
    case .echoAfterMove:
      tell("[main]   closing the write half; the read half stays open")
      step = .end
      pair.output.close()
    case .connecting, .end: break
    }
  }

  private func send(_ bytes: [UInt8], then next: Step) {
    step = next
    awaited = bytes
    do {
      outcome.sent += try pair?.output.write(bytes) ?? 0
      tell("[main]   writing \(bytes.count) bytes")
    } catch {
      failed(Failure(error, during: .write))
    }
  }

  private func clientTold(_ event: StreamEvent, _ error: StreamError?) {
    if event == .errorOccurred, let error {
      failed(Failure(error, during: step == .connecting ? .connect : .read))
    }
    guard event == .endEncountered else { return }
    clientIsDone = true
    reportIfDone()
  }

  private func failed(_ failure: Failure) {
    guard !hasReported else { return }
    outcome.failure = failure
    cut()
  }

  private func cut() {
    pair?.abort()
    connection?.stop()
    (clientIsDone, serverIsDone) = (true, true)
    reportIfDone()
  }

  private func reportIfDone() {
    guard clientIsDone, serverIsDone, !hasReported else { return }
    hasReported = true
    pair?.close()
    listener?.close()
    (pair, listener, connection) = (nil, nil, nil)
    report(outcome)
  }

  // MARK: - Telling

  private nonisolated func happened(_ thread: String, _ what: String, isEvent: Bool = true) {
    perform { tour in
      if isEvent, what != "write close" { tour.events += 1 }
      tour.threads.insert(thread)
      tour.tell("[\(thread)] \(what)")
    }
  }

  /// The main thread is the printer's too.
  private nonisolated func tell(_ line: String) { printer.tell { $0.write(line + "\n") } }

  private nonisolated func perform(_ body: @escaping @Sendable (isolated Tour) -> Void) {
    base.execute { self.assumeIsolated(body) }
  }
}
