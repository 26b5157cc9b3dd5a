// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Securing a pair, before it is opened, or later, in the middle of its life; and making it plain again.

extension Endpoint: SecurityListener {
  /// Secures both directions from now on.
  func secure(with settings: any SecuritySettings) throws(StreamError) {
    var (holder, supplier): ((any ByteHolder)?, (any ByteSupplier)?)
    let target = try lock.withLock { () throws(StreamError) -> SecurityTarget? in
      guard try mayBeSecured(with: settings) else { return nil }
      if isConnected { (holder, supplier) = (reader?.holder, writer?.supplier) }
      return SecurityTarget(host: plan?.peerName, port: plan?.port)
    }
    guard let target else { return }
    // Asked with the lock free: readers and writers of frames have locks of their own.
    if let holder, holder.bufferedByteCount > 0 { throw .misuse(.unreadBytes, "start TLS") }
    supplier?.handOver()
    // This may read files of root certificates.
    let engine = try settings.makeEngine(for: target)
    let isInstalled = try lock.withLock { () throws(StreamError) -> Bool in
      guard try mayBeSecured(with: settings) else { return false }
      install(SecuredTransport(secured?.wire ?? transport, engine, settings, listener: self))
      return true
    }
    if isInstalled { serveSoon() }
  }

  /// The lock is held.
  /// - Returns: `false` if the pair is secured just so already.
  private func mayBeSecured(with settings: any SecuritySettings) throws(StreamError) -> Bool {
    guard transport.canBeSecured else { throw .misuse(.unsupported, "start TLS") }
    if let secured, !secured.stage.admitsChange {
      guard secured.settings.isSame(as: settings), !secured.stage.isEnding else {
        throw .misuse(.secured, "start TLS")
      }
      return false
    }
    let isInUse = reader?.isGone == false || writer?.isGone == false
    guard !hasFailed, isInUse, !isConnected || canAgree else { throw .misuse(.notOpen, "start TLS") }
    if reader?.isLending == true { throw .misuse(.busy, "start TLS") }
    if let reader, reader.leftoverCount > 0 { throw .misuse(.unreadBytes, "start TLS") }
    return true
  }

  /// Whether both directions of the connection are there, as a handshake needs them. The owner's read stream need not be.
  private var canAgree: Bool { writer?.isGone == false && reader?.lifecycle.status != .atEnd }

  /// The lock is held.
  private func install(_ secured: SecuredTransport) {
    replaceTransport(secured)
    // What was told of plain bytes and of room for them is void.
    reader?.lifecycle.didRead(left: false)
    writer?.lifecycle.didWrite(room: false)
    if isConnected { beginSecuring() }
  }

  /// Has both halves see to their events, and to what is there.
  private func serveSoon() {
    lock.withLock {
      reader?.transportSignalled()
      writer?.transportSignalled()
    }
  }

  /// - Returns: Whether the settings were taken; `nil` takes the security off that has not begun.
  func setSecurity(_ value: (any Sendable)?) -> Bool {
    if let settings = value as? any SecuritySettings {
      do throws(StreamError) { try secure(with: settings) } catch { return false }
      return true
    }
    return lock.withLock {
      guard value == nil else { return false }
      guard let secured else { return true }
      guard secured.stage.admitsChange else { return false }
      replaceTransport(secured.wire)
      return true
    }
  }

  /// The connection is up. The lock is held.
  func beginSecuring() {
    guard let secured, secured.stage == .waiting else { return }
    let now = SystemCalls.monotonicNow()
    let own = secured.settings.handshakeTimeout.map { now &+ $0.clampedNanoseconds }
    if let deadline = [own, plan?.deadline].compactMap({ $0 }).min() {
      let rest = Duration.nanoseconds(Int64(clamping: deadline > now ? deadline - now : 0))
      securityTimer = EventBase.shared.schedule(after: rest) { [weak self] in
        self?.handshakeTimeLimitPassed()
      }
    }
    secured.begin()
  }

  private func handshakeTimeLimitPassed() {
    lock.withLock { secured?.timeLimitPassed() }
  }

  func securingEnded() {
    securityTimer?.cancel()
    securityTimer = nil
    signalWaiters()
  }

  func securingFailed(_ error: StreamError) {
    fail(error, by: nil)
    securingEnded()
  }

  // MARK: - Taking it off

  /// Makes both directions plain, once the peer has said that it does the same.
  func stopSecuring() throws(StreamError) {
    var supplier: (any ByteSupplier)?
    try lock.withLock { () throws(StreamError) in
      if try mayStopSecuring() { supplier = writer?.supplier }
    }
    // Asked with the lock free: writers of frames have locks of their own.
    supplier?.handOver()
    let begins = try lock.withLock { () throws(StreamError) -> Bool in
      guard try mayStopSecuring() else { return false }
      // What was told of room is void.
      writer?.lifecycle.didWrite(room: false)
      awaitEnd()
      secured?.stop()
      return true
    }
    if begins { serveSoon() }
  }

  /// The lock is held.
  /// - Returns: `false` if that is under way already.
  private func mayStopSecuring() throws(StreamError) -> Bool {
    let isOpen = reader?.lifecycle.status == .open && writer?.lifecycle.status == .open
    guard isOpen, !hasFailed else { throw .misuse(.notOpen, "stop TLS") }
    guard let secured, secured.stage.isAgreed else { throw .misuse(.notSecured, "stop TLS") }
    return !secured.stage.isEnding
  }

  /// Limits how long nothing may move, as at a close. The lock is held.
  private func awaitEnd() {
    let limit = limits?.linger ?? StreamLimits.defaultLinger
    securityTimer = EventBase.shared.schedule(after: .nanoseconds(Int64(clamping: limit))) { [weak self] in
      self?.endTimeLimitPassed()
    }
  }

  private func endTimeLimitPassed() {
    lock.withLock {
      if secured?.mayStillEnd(isRead: reader.map { !$0.isGone } ?? false) == true { awaitEnd() }
    }
  }

  func securityEnded(_ rest: consuming StreamBuffer?) {
    if let secured { replaceTransport(secured.wire) }
    if let rest { reader?.keepBehind(rest) }
    securingEnded()
    reader?.transportSignalled()
    writer?.transportSignalled()
  }

  // MARK: - Approving

  /// On a thread for that: the owner may ask others in turn. With too many questions at once, the limit of the handshake
  /// holds for those that wait.
  func ask(_ body: @escaping @Sendable () -> Bool) {
    let failure = Self.askers.run { self.answered(body()) }
    if failure != nil { secured?.answered(false) }
  }

  private static let askers = WorkerPool(named: "TLSApproval", maximumThreads: 16, idleLimit: .seconds(10))

  private func answered(_ isApproved: Bool) { lock.withLock { secured?.answered(isApproved) } }
}

extension StreamPair {
  /// Secures both directions: with the next byte if the pair is open, else as soon as it is connected.
  /// - Throws: `unsupported` for pairs in memory, `notOpen` for one that is closed or has failed, or whose connection has
  ///   ended in one direction, `secured` for one that is being secured in another way, `unreadBytes` if bytes have come
  ///   that were not read; or what the settings lack.
  package func secure(with settings: any SecuritySettings) throws(StreamError) {
    try input.half.endpoint.secure(with: settings)
  }

  /// Takes the security off both directions, as soon as the peer does the same.
  /// - Throws: `notOpen` unless both streams are open, which they are not any more when the peer has ended; `notSecured` if
  ///   there is nothing to take off, or not yet.
  package func stopSecuring() throws(StreamError) { try input.half.endpoint.stopSecuring() }
}
