// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The server of `chatd`: carries out on connections what Chat/ChatRoom.swift decides. An actor on the network's loop.

import SocketStreams

/// A listener and its clients.
actor ChatServer: Server {
  /// One client's connection.
  private struct Visitor {
    let connection: FramedConnection
    let peer: SocketAddress
    var hasSpoken = false
    /// Nothing more is said to it: it gets what it was told, and then the end.
    var isLeaving = false
    var inputIsOver = false
    var outputIsOver = false
  }

  /// How long a client that leaves may take to read what it was told.
  private static let patience = Duration.seconds(2)
  /// The same when the server ends.
  private static let lastPatience = Duration.milliseconds(500)
  /// With its end: half a line, whose client is gone, is nothing that was said.
  private static let line = Framing.through([UInt8(ascii: "\n")], limit: ChatMessage.limit)

  nonisolated let base: EventBase
  nonisolated let plan: ServerPlan
  nonisolated let printer: Printer
  nonisolated let report: ResultBoard.Report
  /// How many bytes may wait for one client.
  private let queueLimit: Int
  private let counts: ChatCounts

  var progress = ServerProgress()
  private var room = ChatRoom()
  private var visitors: [ChatRoom.Member: Visitor] = [:]
  private var effects: [ChatEffect] = []
  private var isPerforming = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe base.asUnownedSerialExecutor() }

  init(
    _ plan: ServerPlan, queueLimit: Int, on base: EventBase, printer: Printer, counts: ChatCounts,
    report: @escaping ResultBoard.Report
  ) {
    self.plan = plan
    self.queueLimit = queueLimit
    self.base = base
    self.printer = printer
    self.counts = counts
    self.report = report
  }

  var clientCount: Int { visitors.count }

  nonisolated func end() -> [String] { [] }

  // MARK: - Clients come

  func serve(_ pair: StreamPair, _ number: Int, _ peer: SocketAddress) {
    do {
      try plan.security?.secure(pair)
    } catch {
      tell(number, "\(error)")
      return tellUnsecured(peer, error)
    }
    let connection = FramedConnection(pair, on: base) { [self] event in
      assumeIsolated { $0.readEvent(number, event) }
    } write: { [self] event in
      assumeIsolated { $0.writeEvent(number, event) }
    }
    visitors[number] = Visitor(connection: connection, peer: peer)
    room.entered(number)
    let local = pair.input.property(.localAddress)
    tell(number, "from \(peer)" + (local.map { " at \($0)" } ?? ""))
    connection.reader.read(Self.line)
    pair.open()
  }

  // MARK: - Clients speak

  private func readEvent(_ number: Int, _ event: FramedReadEvent) {
    guard let visitor = visitors[number] else { return }
    switch event {
    case .opened: tell(number, "read openCompleted")
    case .frame where visitor.isLeaving: visitor.connection.reader.read(.available())
    case .frame(let line, _):
      progress.lastActivity = .now
      counts.lineCame()
      if !visitor.hasSpoken, let security = visitor.connection.pair.input.security { tell(number, security) }
      visitors[number]?.hasSpoken = true
      tell(number, "read line \(line.count)")
      // Before what is done about it: that may be the end of this client.
      visitor.connection.reader.read(Self.line)
      perform(room.lineArrived(line, from: number))
    case .failed(let error, _):
      // Any other failure is followed by the end.
      guard error.isFrameTooLong, !visitor.isLeaving else { return }
      tell(number, "line over \(ChatMessage.limit) bytes")
      perform(room.lineWasTooLong(from: number))
    case .ended(let error):
      visitors[number]?.inputIsOver = true
      visitorEnded(number, error, "read")
    case .partial, .timeLimitPassed: break
    }
  }

  private func writeEvent(_ number: Int, _ event: FramedWriteEvent) {
    guard visitors[number] != nil else { return }
    switch event {
    case .opened: tell(number, "write openCompleted")
    case .ended(let error):
      visitors[number]?.outputIsOver = true
      visitorEnded(number, error, "write")
    case .written, .partial, .failed, .timeLimitPassed: break
    }
  }

  // MARK: - Clients hear

  private func perform(_ new: [ChatEffect]) {
    effects += new
    // What is done may have further effects: they come after it, and not inside.
    guard !isPerforming else { return }
    isPerforming = true
    while !effects.isEmpty { perform(effects.removeFirst()) }
    isPerforming = false
  }

  private func perform(_ effect: ChatEffect) {
    switch effect {
    case .tell(let members, let line): say(line, to: members)
    case .dismiss(let member): sayGoodbye(member, Self.patience)
    }
  }

  /// Says a line to those who read, and cuts the connections of those for whom too much waits already.
  private func say(_ line: String, to members: [ChatRoom.Member]) {
    let bytes = Array((line + "\n").utf8)
    var slow: [(ChatRoom.Member, waiting: Int)] = []
    for member in members {
      guard let visitor = visitors[member] else { continue }
      // Asked here: that a write did not fit would be told after those before it, to a client that reads.
      let waiting = visitor.connection.writer.queuedByteCount
      if waiting + bytes.count > queueLimit {
        slow.append((member, waiting))
      } else {
        visitor.connection.writer.write(bytes)
      }
    }
    for (member, waiting) in slow { drop(member, waiting) }
  }

  /// Cuts the connection of a client that does not read.
  private func drop(_ number: Int, _ waiting: Int) {
    counts.clientWasDropped()
    tell(number, "dropped, \(waiting) bytes wait")
    finish(number, abruptly: true)
    perform(room.left(number))
  }

  // MARK: - Clients leave

  /// One half of a connection is over.
  private func visitorEnded(_ number: Int, _ error: StreamError?, _ half: String) {
    progress.lastActivity = .now
    tell(number, error.map { "\(half) errorOccurred: \($0)" } ?? "\(half) endEncountered")
    if let error, let visitor = visitors[number] { tellUnsecured(visitor.peer, error) }
    if error == nil { sayGoodbye(number, Self.patience) } else { finish(number, abruptly: true) }
    perform(room.left(number))
    if let visitor = visitors[number], visitor.inputIsOver, visitor.outputIsOver {
      finish(number, abruptly: false)
    }
  }

  /// Ends the connection after what was said to the client, and after the client's own end, unless that takes longer than
  /// `patience`. What the client still says is read, since a connection that is closed with bytes unread loses those on
  /// their way to the client.
  private func sayGoodbye(_ number: Int, _ patience: Duration) {
    guard let visitor = visitors[number] else { return }
    base.schedule(after: patience) { [weak self] in
      self?.assumeIsolated { $0.finish(number, abruptly: true) }
    }
    guard !visitor.isLeaving else { return }
    visitors[number]?.isLeaving = true
    visitor.connection.reader.read(.available())
    visitor.connection.writer.closeAfterWrites()
  }

  /// Lets go of a connection.
  private func finish(_ number: Int, abruptly: Bool) {
    guard let visitor = visitors.removeValue(forKey: number) else { return }
    progress.outcome.connections += 1
    progress.outcome.count(visitor.connection)
    visitor.connection.close(abruptly: abruptly)
    tell(number, "closed")
    reportIfDone()
  }

  func endConnections() {
    // They all leave now, and nobody is told of another.
    room = ChatRoom()
    for number in visitors.keys.sorted() { sayGoodbye(number, Self.lastPatience) }
  }
}
