// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A layer around any other transport: what goes through is secured by an engine. It has no event of its own; the halves'
// events are those of the transport below, so that moving a half moves nothing here.

/// A transport whose bytes are secured.
///
/// `@unchecked Sendable`: guarded by the pair's lock.
final class SecuredTransport: StreamTransport, SecurityWire, @unchecked Sendable {
  /// What moves the secured bytes.
  let wire: any StreamTransport
  let settings: any SecuritySettings
  var stage = SecurityStage.waiting
  private(set) var isBlocked = false
  /// The wire ended or failed: nothing more can arrive.
  private var isWireOver = false
  private(set) var wireFailure: Int32?
  /// What the owner wrote last was written.
  private(set) var isFinishing = false
  /// Bytes of the owner's were dropped: what is missing must not look as if it had never been.
  private(set) var isIncomplete = false
  /// `nil` when the connection is over, or plain again.
  var engine: (any SecurityEngine)?
  var peer: (any Sendable)?
  private var failure: StreamError?
  /// Bytes that were moved here and are not secured yet.
  var plain: Evbuffer?
  var plainCount = 0
  /// How far taking the security off is.
  var ending = Ending()
  /// The engine is called with bytes of the owner's.
  private var isSecuringBytes = false
  /// How much the engine has said by itself, as the peer asked for it, since the queue was empty: a peer that asks and
  /// does not read would have it grow for ever.
  private var unreadAnswers = 0
  /// How many more secured bytes this call takes from a descriptor, on which a peer could have more and more that is no data:
  /// the rest comes with its next event. What a transport has in memory has an end.
  private var allowance = 0
  // The listener owns this transport.
  unowned let listener: any SecurityListener

  /// The most that one write secures, if the wire takes it all; others want the lock, too.
  private static let burst = 16 * largestSecuredPiece
  /// The most that one call takes from a descriptor, but for the read that goes beyond it: more than a record has.
  private static let arrival = 2 * largestSecuredPiece

  init(
    _ wire: any StreamTransport, _ engine: any SecurityEngine, _ settings: any SecuritySettings,
    listener: any SecurityListener
  ) {
    self.wire = wire
    self.engine = engine
    self.settings = settings
    self.listener = listener
    engine.attach(to: self)
  }

  // MARK: - The handshake

  /// The connection is up: the handshake begins.
  func begin() {
    stage.connected()
    _ = isSecured()
  }

  /// A call of the pair begins.
  @inline(__always)
  func renewAllowance() { allowance = SecuredTransport.arrival }

  /// Whether plain bytes can go, after going on with the handshake as far as it gets.
  @inline(__always)
  private func isSecured() -> Bool {
    renewAllowance()
    return stage == .secured || goesOn()
  }

  @inline(never)
  private func goesOn() -> Bool {
    guard stage == .handshaking, let engine else { return false }
    switch engine.handshake() {
    case .wouldBlock: return false
    case .failed: fail(engine.failure ?? .tls(.internalError, "TLS handshake"))
    case .done:
      peer = engine.peer
      let approval = engine.approval
      stage.agreed(asks: approval != nil)
      if let approval { listener.ask(approval) } else { secured() }
    }
    return stage == .secured
  }

  private func secured() {
    isBlocked = false
    passPlain()
    tellAll()
    listener.securingEnded()
  }

  private func tellAll() {
    listener.arrivalsSignalled()
    listener.roomSignalled()
  }

  func fail(_ error: StreamError) {
    guard stage.gaveUp() else { return }
    failure = error
    listener.securingFailed(error)
  }

  /// The owner's answer to the engine's question.
  func answered(_ isApproved: Bool) {
    guard stage == .approving else { return }
    if isApproved {
      stage.approved()
      secured()
    } else {
      engine?.refuse()
      fail(engine?.failure ?? .tls(.notApproved, "TLS handshake"))
    }
  }

  /// The time for the handshake is over.
  func timeLimitPassed() {
    if stage.isUnderWay { fail(.posix(Errno.timedOut, "TLS handshake")) }
  }

  func error(_ code: Int32, _ operation: String) -> StreamError {
    if let failure = failure ?? engine?.failure, failure.code == code { return failure }
    renewAllowance()
    if stage.isAgreed, let engine, case .failed = engine.peek(), let last = engine.failure,
      last.isPeersWord
    {
      return last
    }
    return wire.error(code, operation)
  }

  // MARK: - The wire

  func receiveSecured(into buffer: inout MutableRawSpan) -> IOResult {
    if unreadAnswers > SecuredTransport.burst { return .failed(Errno.noBuffers) }
    guard allowance > 0 else { return .wouldBlock }
    let result = wire.receive(into: &buffer)
    switch result {
    case .end, .failed: isWireOver = true
    case .bytes(let count):
      ending.hasArrived = true
      if wire.usesDescriptor { allowance -= count }
    case .wouldBlock: break
    }
    return result
  }

  func sendSecured(_ bytes: RawSpan) {
    let wasEmpty = wire.queuedCount == 0
    if wasEmpty {
      unreadAnswers = 0
    } else if stage.isAgreed, !isSecuringBytes {
      unreadAnswers += bytes.byteCount
    }
    if case .failed(let code) = wire.sendAll(bytes), wireFailure == nil { wireFailed(code) }
    // Whoever reads may have had something to say: the write half has to pass it on.
    if wasEmpty, wire.queuedCount > 0 { listener.roomSignalled() }
  }

  private func wireFailed(_ code: Int32) {
    isWireOver = true
    wireFailure = code
  }

  // MARK: - Receiving

  /// What is answered while plain bytes cannot go.
  private var unsecured: IOResult { failure.map { .failed($0.code) } ?? .wouldBlock }

  func receive(into buffer: inout MutableRawSpan) -> IOResult {
    guard isSecured() || stage.isEnding, let engine else { return unsecured }
    let couldSend = engine.canSend
    return told(engine.receive(into: &buffer), couldSend, isTaken: true)
  }

  func peek() -> IOResult {
    guard isSecured() || stage.isEnding, let engine else { return unsecured }
    let couldSend = engine.canSend
    return told(engine.peek(), couldSend, isTaken: false)
  }

  private func told(_ result: IOResult, _ couldSend: Bool, isTaken: Bool) -> IOResult {
    if !couldSend, engineCanSend { listener.roomSignalled() }
    return stage.isEnding ? found(result, isTaken: isTaken) : result
  }

  var holdsArrivals: Bool {
    (engine?.holdsInput ?? false) && !ending.hasPeerEnded || wire.holdsArrivals
  }

  // MARK: - Sending

  /// An end that cannot be said yet waits, too.
  var queuedCount: Int { plainCount + wire.queuedCount + (owesEnd ? 1 : 0) }

  private var owesEnd: Bool { isFinishing && stage == .secured && !isIncomplete && !engineCanSend }

  private var hasRoom: Bool { plainCount == 0 && wireHasRoom && engineCanSend }

  var engineCanSend: Bool { engine?.canSend ?? true }

  var acceptsBytes: Bool { failure != nil || stage == .secured && hasRoom }

  /// Goes on with what the peer says to the engine itself, if bytes can only go behind that.
  private func catchUp() {
    if let engine, !engine.canSend { _ = engine.peek() }
  }

  func send(_ bytes: RawSpan) -> IOResult {
    guard isSecured() else {
      isBlocked = failure == nil
      return unsecured
    }
    catchUp()
    var taken = 0
    let most = min(bytes.byteCount, SecuredTransport.burst)
    while taken < most, hasRoom {
      let piece = min(pieceSize, most - taken)
      if let code = secure(bytes.extracting(taken..<taken + piece)) {
        return taken > 0 ? .bytes(taken) : .failed(code)
      }
      taken += piece
    }
    isBlocked = taken < bytes.byteCount
    return taken > 0 ? .bytes(taken) : .wouldBlock
  }

  /// Secures and passes on one piece.
  /// - Returns: The code of what stopped it.
  private func secure(_ piece: RawSpan) -> Int32? {
    if let wireFailure { return wireFailure }
    guard let engine else { return Errno.brokenPipe }
    isSecuringBytes = true
    defer { isSecuringBytes = false }
    if case .failed(let code) = engine.send(piece) { return code }
    return wireFailure
  }

  func send(moving buffer: consuming StreamBuffer) -> IOResult {
    _ = isSecured()
    if let failure { return .failed(failure.code) }
    let count = buffer.count
    plainCount += count
    if plain == nil { plain = Evbuffer() }
    plain?.append(taking: buffer)
    if let code = passPlain() { return .failed(code) }
    return .bytes(count)
  }

  /// Secures what was moved here, as far as the wire's queue stays within its limit, and says the end behind the last of it.
  /// - Returns: The code of what stopped it.
  @discardableResult
  func passPlain() -> Int32? {
    guard stage == .secured || stage == .finishing else { return nil }
    while toSecureCount > 0, wireHasRoom, engineCanSend {
      if let code = passFirst(min(toSecureCount, largestSecuredPiece), by: secure) { return code }
    }
    if plainCount == 0 { plain = nil }
    guard toSecureCount == 0 else { return nil }
    if stage == .finishing {
      sayEnd()
    } else if isFinishing, !isIncomplete {
      // Maybe the rest has come by now.
      catchUp()
      engine?.finishSending()
    }
    return nil
  }

  /// Passes on the first of what was moved here, at most `limit` bytes.
  /// - Parameter body: Takes over all that it gets, or tells the code of what stopped it.
  /// - Returns: That code.
  func passFirst(_ limit: Int, by body: (RawSpan) -> Int32?) -> Int32? {
    var (passed, code) = (0, Int32?.none)
    plain?.withFirstRun(atLeast: 1) { run in
      passed = min(run.byteCount, limit)
      code = body(run.extracting(0..<passed))
    }
    if let code { return code }
    plain?.remove(passed)
    plainCount -= passed
    if stage == .finishing { ending.plainFrom -= passed }
    return nil
  }

  func drain() -> IOResult {
    let before = queuedCount
    guard isSecured() || stage.isEnding else {
      if failure != nil { return unsecured }
      return wire.queuedCount > 0 ? wire.drain() : .wouldBlock
    }
    if let wireFailure { return .failed(wireFailure) }
    if stage.isEnding {
      if case .failed(let code) = lookForEnd() { return .failed(code) }
    } else {
      catchUp()
    }
    let result = wire.drain()
    if case .failed(let code) = result {
      wireFailed(code)
      return result
    }
    if let code = passPlain() { return .failed(code) }
    if hasRoom, !wire.isBlocked { isBlocked = false }
    return queuedCount < before ? .bytes(before - queuedCount) : .wouldBlock
  }

  func sendAll(_ bytes: RawSpan) -> IOResult { send(moving: StreamBuffer(copying: bytes)) }

  func prepareToFinish() {
    renewAllowance()
    isFinishing = true
    passPlain()
  }

  func dropQueue() {
    if queuedCount > 0 { isIncomplete = true }
    plain = nil
    plainCount = 0
    ending.plainFrom = 0
    isBlocked = false
    wire.dropQueue()
  }

  // MARK: - The end

  /// The peer's word that it is done is not the end of the wire, on which more may come: a plain close over that would be a
  /// reset.
  func end(_ ending: SocketSides.Ending) -> Farewell {
    // A write half that was never opened did not say it.
    if ending != .abort, wireFailure == nil, !isIncomplete { engine?.finishSending() }
    failure = failure ?? engine?.failure
    engine = nil
    return wire.end(ending == .close && !isWireOver ? .closeAfterDelivery : ending)
  }
}

extension StreamError {
  /// Whether the peer has said why it goes. It often does so without reading what is on its way, which resets the
  /// connection; what it said arrives in front of the reset all the same, and says more.
  fileprivate var isPeersWord: Bool { domain == .tls && tls != .closedWithoutNotice }
}
