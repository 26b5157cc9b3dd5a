// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The engine of one connection: what a pair is told of what OpenSSL does.

#if TLS

internal import SocketStreams

/// Secures a pair by TLS.
///
/// `@unchecked Sendable`: guarded by the pair's lock.
final class TLSEngine: SecurityEngine, @unchecked Sendable {
  let connection: SSLConnection
  private let settings: TLSSettings
  /// Under what a client's sessions are kept; `nil` if they are not.
  private let sessionKey: ClientSessions.Key?

  private(set) var failure: StreamError?
  private var isConnected = false
  private var hasFinishedSending = false
  /// The peer said that it sends no more.
  private var hasEnded = false
  /// `receive` told of the end or the failure.
  private var hasToldEnd = false
  private var knownPeer: TLSPeer?

  /// - Throws: What is wrong with the settings for this target.
  init(_ settings: TLSSettings, _ context: SSLContext, _ target: SecurityTarget) throws(StreamError) {
    self.settings = settings
    connection = try SSLConnection(context, isServer: settings.role == .server)
    guard settings.role == .client else {
      sessionKey = nil
      return
    }
    // Without any name there is no telling one server from another.
    let isAnybody = settings.peerName == nil && target.host == nil
    sessionKey =
      settings.resumesSessions && !isAnybody ? ClientSessions.Key(target: target, settings: settings) : nil
    if let name = try Self.peerName(settings, target) {
      try connection.sendName(name)
      if settings.verification == .full { try connection.require(name) }
    }
    if let sessionKey { useSessions(of: sessionKey) }
  }

  deinit {
    if hasEnded, failure == nil { connection.markShutDown() }
  }

  private static func peerName(_ settings: TLSSettings, _ target: SecurityTarget) throws(StreamError)
    -> PeerName?
  {
    let isChecked = settings.verification == .full
    guard let text = settings.peerName ?? target.host else {
      if isChecked { throw .badSettings("there is no name to check the peer's certificate for") }
      return nil
    }
    guard let name = PeerName(text) else {
      if isChecked { throw .badSettings("\"\(text)\" is no name that a certificate could be checked for") }
      return nil
    }
    return name
  }

  private func useSessions(of key: ClientSessions.Key) {
    connection.sessionArrived = { ClientSessions.shared.keep($0, for: key) }
    if let session = ClientSessions.shared.take(for: key) { connection.offer(session) }
  }

  // MARK: - The handshake

  func attach(to wire: any SecurityWire) { connection.attach(to: wire) }

  func handshake() -> HandshakeProgress {
    guard failure == nil else { return .failed }
    guard !isConnected else { return .done }
    switch connection.handshake() {
    case .done:
      isConnected = true
      return .done
    case .wantsInput: return .wouldBlock
    case .closed:
      // No call that only agrees answers so, but then it is an end before its time.
      fail(TLSFailure(finder: .end), in: .handshake)
    case .failed: fail(connection.failure, in: .handshake)
    }
    return .failed
  }

  var approval: (@Sendable () -> Bool)? {
    guard isConnected, failure == nil, let approval = settings.approval, let peer = tlsPeer else {
      return nil
    }
    return { approval.isGiven(to: peer) }
  }

  func refuse() {
    guard failure == nil else { return }
    fail(.tls(.notApproved, TLSPhase.handshake.operation, detail: "the approval said no"))
  }

  /// What was agreed upon, once the handshake is done.
  var tlsPeer: TLSPeer? {
    guard isConnected else { return nil }
    if let knownPeer { return knownPeer }
    knownPeer = connection.peer
    return knownPeer
  }

  var peer: (any Sendable)? { tlsPeer }

  // MARK: - Bytes

  func receive(into buffer: inout MutableRawSpan) -> IOResult {
    if let ending {
      hasToldEnd = true
      return ending
    }
    guard isConnected else { return .wouldBlock }
    guard buffer.byteCount > 0 else { return .bytes(0) }
    let (count, outcome) = connection.read(into: &buffer)
    note(outcome, in: .reading)
    if count > 0 { return .bytes(count) }
    guard let ending else { return .wouldBlock }
    hasToldEnd = true
    return ending
  }

  func peek() -> IOResult {
    if let ending { return ending }
    guard isConnected else { return .wouldBlock }
    let (count, outcome) = connection.peek()
    note(outcome, in: .reading)
    return count > 0 ? .bytes(count) : ending ?? .wouldBlock
  }

  var holdsInput: Bool {
    if ending != nil { return !hasToldEnd }
    return connection.holdsInput
  }

  var canSend: Bool { failure != nil || !connection.isAmidMessage }

  func send(_ bytes: RawSpan) -> IOResult {
    if let failure { return .failed(failure.code) }
    guard bytes.byteCount > 0 else { return .bytes(0) }
    let outcome = connection.write(bytes)
    // What is agreed upon needs no answer to send; if it did, these bytes would be lost.
    if outcome == .wantsInput { fail(TLSFailure(finder: .nobody), in: .writing) }
    note(outcome, in: .writing)
    return failure.map { .failed($0.code) } ?? .bytes(bytes.byteCount)
  }

  func finishSending() {
    // OpenSSL says nothing of the end amid a message of the peer's, and does not do it later by itself.
    guard isConnected, failure == nil, !hasFinishedSending, !connection.isAmidMessage else { return }
    hasFinishedSending = true
    connection.shutDown()
  }

  func takeRest() -> StreamBuffer? { connection.takeRest() }

  // MARK: - The end

  /// What `receive` answers for ever; `nil` while there may be more.
  private var ending: IOResult? {
    if hasEnded { return .end }
    return failure.map { .failed($0.code) }
  }

  private func note(_ outcome: SSLOutcome, in phase: TLSPhase) {
    switch outcome {
    case .done, .wantsInput: break
    case .closed: hasEnded = true
    case .failed: fail(connection.failure, in: phase)
    }
  }

  private func fail(_ failure: TLSFailure?, in phase: TLSPhase) {
    fail((failure ?? TLSFailure(finder: .nobody)).error(in: phase))
  }

  private func fail(_ error: StreamError) {
    failure = error
    if let sessionKey { ClientSessions.shared.drop(for: sessionKey) }
  }
}

#endif
