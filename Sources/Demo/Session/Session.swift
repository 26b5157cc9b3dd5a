// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A run of a command as the main thread sees it: it starts the network's thread, prints until all is done, and waits for
// the thread. How the run went is told in Conclusion.swift.

import SocketStreams

/// What a run is asked to do.
struct SessionRequest: Sendable {
  let command: String
  /// Where it connects to or listens, for messages.
  let target: String
  /// What is told before anything is done; `nil` for nothing.
  var warning: String?
  /// How many tasks there are to wait for.
  var count = 1
  var isJSON = false
  var isVerbose = false
  var threadName = "net"
  /// Whether the summary for people is what standard output is for.
  var summaryIsData = false
  /// Whether the start and the end of the network's thread are told.
  var tellsThreads = false
  /// What the progress line says.
  var progress = Progress(name: "", done: 0, total: nil, rate: nil, elapsed: .zero)
  /// Further members of the JSON summary, asked for at the end.
  var more: @Sendable () -> [JSONValue.Member] = { [] }
}

/// Something that runs on the network's thread until it reports an outcome. Any thread may call its functions.
protocol NetworkTask: AnyObject, Sendable {
  func begin()
  /// Ends early: because of a signal, or because nobody wants its output any more.
  func stop(isInterrupted: Bool)
  /// Called on the main thread when everything is over, the network's thread too: stops what the task itself started.
  /// - Returns: What there is to tell about it, in lines.
  func end() -> [String]
  /// What the summary is to contain besides numbers. Asked for before `end`.
  func details() -> [String]
}

extension NetworkTask {
  func details() -> [String] { [] }
}

/// What came of one task.
struct TaskOutcome: Sendable {
  var failure: Failure?
  var isInterrupted = false
  /// Bytes that write streams took, and that read streams gave.
  var sent = 0
  var received = 0
  var connections = 1
}

/// What came of a run.
struct SessionResult: Sendable {
  var failure: Failure?
  var isInterrupted = false
  var sent = 0
  var received = 0
  var connections = 0
  /// The signal that ended the run.
  var signal: Int32?
  var details: [String] = []
  var elapsed = Duration.zero
  var socketsLeft = 0

  /// Adds one task. The first failure counts.
  mutating func add(_ other: TaskOutcome) {
    failure = failure ?? other.failure
    isInterrupted = isInterrupted || other.isInterrupted
    sent += other.sent
    received += other.received
    connections += other.connections
  }
}

/// Runs commands.
enum Session {
  /// Runs the request to its end, on the calling thread.
  ///
  /// - Parameters:
  ///   - startThread: Starts the network's thread.
  ///   - makeTask: Makes one of the tasks, on the loop of the network's thread. It reports its outcome once.
  ///   - summary: The last line for people, made from the result.
  static func run<Net: NetworkLoop>(
    _ request: SessionRequest, sink: sending Printer.Sink = .nowhere, console: sending Console,
    startThread: (_ name: String) throws(StreamError) -> Net,
    makeTask: (_ net: Net, _ printer: Printer, _ report: @escaping ResultBoard.Report)
      throws(StreamError) ->
      any NetworkTask,
    summary: @escaping @Sendable (SessionResult) -> String
  ) throws(StreamError) -> ExitCode {
    if let warning = request.warning { console.note(warning) }
    let socketsBefore = OpenSockets.count
    let main = try EventBase()
    let net = try startThread(request.threadName)
    let printer = Printer(main, console: console, sink: sink, progress: request.progress)
    let board = ResultBoard(main, awaiting: request.count)
    var tasks: [any NetworkTask] = []
    for _ in 0..<request.count { tasks.append(try makeTask(net, printer) { board.add($0) }) }
    let result = try run(request, tasks, main: main, net: net, printer, board)
    return conclude(request, result, main, printer, socketsBefore: socketsBefore, summary)
  }

  /// Runs the tasks, prints until all have reported, and waits for their threads.
  private static func run(
    _ request: SessionRequest, _ tasks: [any NetworkTask], main: EventBase, net: any NetworkLoop,
    _ printer: Printer,
    _ board: ResultBoard
  ) throws(StreamError) -> SessionResult {
    let signals = try SignalWatch { number in
      board.note(signal: number)
      for task in tasks { task.stop(isInterrupted: true) }
    }
    try signals.start()
    printer.tell { printer in
      printer.whenOutputFails { for task in tasks { task.stop(isInterrupted: false) } }
      printer.drawProgress()
      if request.tellsThreads { printer.note("thread \(request.threadName) started") }
    }
    for task in tasks { task.begin() }
    main.run()
    // From here on the tasks are not to be reached: first by signals, then by output that fails.
    signals.stop()
    main.sync { printer.assumeIsolated { $0.whenOutputFails(nil) } }
    return end(request, tasks, main: main, net: net, printer, board)
  }

  /// Waits for the threads, and prints what they had still told.
  private static func end(
    _ request: SessionRequest, _ tasks: [any NetworkTask], main: EventBase, net: any NetworkLoop,
    _ printer: Printer,
    _ board: ResultBoard
  ) -> SessionResult {
    net.stop()
    net.join()
    if request.tellsThreads { printer.tell { $0.note("thread \(request.threadName) joined") } }
    let details = tasks.flatMap { $0.details() }
    for line in tasks.flatMap({ $0.end() }) { printer.tell { $0.note(line) } }
    // A run that is to stop does what is queued before it returns.
    main.stop()
    main.run()
    var result = main.sync { board.assumeIsolated { $0.result } }
    result.details = details
    return result
  }

  private static func conclude(
    _ request: SessionRequest, _ result: SessionResult, _ main: EventBase, _ printer: Printer,
    socketsBefore: Int,
    _ summary: @escaping @Sendable (SessionResult) -> String
  ) -> ExitCode {
    let socketsLeft = OpenSockets.settled(at: socketsBefore) - socketsBefore
    defer { main.invalidate() }
    return main.sync {
      printer.assumeIsolated { printer in
        var result = result
        (result.elapsed, result.socketsLeft) = (printer.elapsed, socketsLeft)
        return Conclusion(request, result).tell(printer, summary: summary)
      }
    }
  }
}

/// Gathers the outcomes on the main thread, and stops its loop when all are there.
actor ResultBoard {
  typealias Report = @Sendable (TaskOutcome) -> Void

  private nonisolated let base: EventBase
  private var awaited: Int
  private(set) var result = SessionResult()

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  init(_ base: EventBase, awaiting count: Int) {
    self.base = base
    awaited = count
  }

  /// Any thread. What was told to be printed before is printed before.
  nonisolated func add(_ outcome: TaskOutcome) {
    base.execute {
      self.assumeIsolated { board in
        board.result.add(outcome)
        board.awaited -= 1
        if board.awaited == 0 { board.base.stop() }
      }
    }
  }

  /// Any thread.
  nonisolated func note(signal number: Int32) {
    base.execute { self.assumeIsolated { $0.result.signal = number } }
  }
}
