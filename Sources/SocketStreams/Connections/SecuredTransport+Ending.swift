// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Taking the security off: what was written before goes out secured, then the engine's word that no more follows. When the
// peer has said the same, behind the last of its secured bytes, the layer's work is done, and the wire's bytes are plain.

extension SecuredTransport {
  /// How far taking the security off is, besides the stage.
  struct Ending {
    /// Of the bytes that wait to be secured, how many were written before the end; those behind them go plain.
    var plainFrom = 0
    /// Secured bytes are here that nobody has read. The peer's word, if it came, is behind them.
    var isReadersTurn = false
    /// The peer has said the end, perhaps before this side did.
    var hasPeerEnded = false
    /// Something arrived since that was asked last.
    var hasArrived = false
    /// How much was queued then.
    var queuedCount = 0
  }

  /// Takes the security off, if that has not begun.
  func stop() {
    guard stage.stopRequested() else { return }
    ending.plainFrom = plainCount
    renewAllowance()
    // What keeps it from going on is found again by whoever drains.
    passPlain()
    ending.queuedCount = queuedCount
  }

  /// How many of the bytes here are to be secured.
  var toSecureCount: Int { stage == .finishing ? ending.plainFrom : plainCount }

  /// Whether only the peer's word is missing, and nothing is in front of it.
  var awaitsEnd: Bool { stage == .stopping && !ending.isReadersTurn }

  /// Says the end, as all that was to be secured is.
  func sayEnd() {
    guard let engine, engineCanSend, !isIncomplete, wireFailure == nil else { return }
    engine.finishSending()
    stage.endSaid()
    _ = lookForEnd()
  }

  /// Looks whether the peer has said the end, as far as bytes that nobody has read let it.
  func lookForEnd() -> IOResult {
    guard let engine else { return .wouldBlock }
    let wasReadersTurn = ending.isReadersTurn
    let result = found(engine.peek(), isTaken: false)
    // They were taken from the wire, which tells of them no more.
    if ending.isReadersTurn, !wasReadersTurn { listener.arrivalsSignalled() }
    return result
  }

  /// What the engine's answer means while the security is taken off: the peer's word is not the end of what it sends.
  func found(_ result: IOResult, isTaken: Bool) -> IOResult {
    let wasReadersTurn = ending.isReadersTurn
    ending.isReadersTurn = false
    switch result {
    case .bytes:
      ending.isReadersTurn = !isTaken
      if wasReadersTurn, isTaken { listener.roomSignalled() }
    case .end:
      ending.hasPeerEnded = true
      guard let restCount = becomePlain(), !isTaken else { return .wouldBlock }
      return restCount > 0 ? .bytes(restCount) : wire.peek()
    case .wouldBlock, .failed: break
    }
    return result
  }

  /// Ends this layer's work, if both sides have said the end.
  /// - Returns: How many plain bytes the pair got with that; `nil` if it is too early.
  private func becomePlain() -> Int? {
    guard wireFailure == nil, stage.peerEnded() else { return nil }
    let rest = engine?.takeRest()
    let restCount = Self.count(rest)
    engine = nil
    peer = nil
    listener.securityEnded(rest)
    passUnsecured()
    return restCount
  }

  private static func count(_ buffer: borrowing StreamBuffer?) -> Int {
    switch buffer {
    case .some(let bytes): bytes.count
    case nil: 0
    }
  }

  /// Passes on what was moved here meanwhile.
  private func passUnsecured() {
    while plainCount > 0 {
      let code = passFirst(plainCount) { if case .failed(let code) = wire.sendAll($0) { code } else { nil } }
      if let code { return listener.securingFailed(wire.error(code, "write")) }
    }
    plain = nil
  }

  /// The time for the peer's word has passed once.
  /// - Parameter isRead: Whether somebody may yet read what is in front of that word.
  /// - Returns: Whether to wait as long again, as something moved, or it is not for the peer to move.
  func mayStillEnd(isRead: Bool) -> Bool {
    guard stage.isEnding else { return false }
    renewAllowance()
    // A pair on no base has perhaps not looked.
    let result = lookForEnd()
    guard stage.isEnding else { return false }
    if case .failed(let code) = result {
      fail(error(code, "stop TLS"))
      return false
    }
    let queued = queuedCount
    defer { (ending.hasArrived, ending.queuedCount) = (false, queued) }
    if ending.hasArrived || queued != ending.queuedCount || ending.isReadersTurn && isRead { return true }
    fail(.posix(Errno.timedOut, "stop TLS"))
    return false
  }
}

/// What a pair hears from the layer that secures it. The pair's lock is held.
protocol SecurityListener: TransportListener {
  /// The owner has to approve: `body` is to be asked with no lock held, and its answer given to the layer.
  func ask(_ body: @escaping @Sendable () -> Bool)
  /// Plain bytes can go.
  func securingEnded()
  /// Plain bytes never will go, whoever found out.
  func securingFailed(_ error: StreamError)
  /// The wire's bytes are plain from now on, behind `rest`, which was taken from it already.
  func securityEnded(_ rest: consuming StreamBuffer?)
}
