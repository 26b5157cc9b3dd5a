// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// One `SSL`, the calls that move it on, and what they came to. It knows nothing of what a pair is told.

#if TLS

internal import COpenSSL
internal import SocketStreams

/// How a call of OpenSSL ended.
enum SSLOutcome: Equatable, Sendable {
  case done
  /// The peer has to say something first.
  case wantsInput
  /// The peer said that it sends no more.
  case closed
  /// See ``SSLConnection/failure``. No further call may be made.
  case failed
}

/// One side of a secured connection.
///
/// `@unchecked Sendable`: a pair's lock guards it, and its engine is its only user.
@safe
final class SSLConnection: @unchecked Sendable {
  let ssl: OpaquePointer
  /// Told of every session that was agreed upon. Only a client's are kept here.
  var sessionArrived: (@Sendable (SSLSession) -> Void)?
  /// Why a call failed; `nil` as long as none did.
  private(set) var failure: TLSFailure?

  // The wire owns the engine that owns this connection, and only it calls them.
  private unowned var wire: (any SecurityWire)?
  private var wireError: Int32 = 0
  private(set) var hasWireEnded = false
  /// Whether the wire may be asked for more. Not once a call has something to give out.
  private var mayAskWire = true
  /// Whether all that came from the wire was looked at: what is left is less than a record.
  private var isDrained = true
  private var records = RecordScanner()
  /// What came from the wire behind a record that may be the peer's last. OpenSSL gets it if it asks for more.
  private var held: StreamBuffer?

  /// - Throws: Only if OpenSSL has no memory left.
  init(_ context: SSLContext, isServer: Bool) throws(StreamError) {
    ErrorQueue.clear()
    guard let made = unsafe SSL_new(context.pointer) else {
      throw .tls(.internalError, TLSPhase.handshake.operation, detail: ErrorQueue.takeReason())
    }
    unsafe ssl = made
    guard let bio = unsafe WireBIO.make(for: self) else {
      throw .tls(.internalError, TLSPhase.handshake.operation, detail: ErrorQueue.takeReason())
    }
    unsafe SSL_set_bio(ssl, bio, bio)
    unsafe SSL_set_ex_data(ssl, SSLSession.connectionIndex, LentPointer.lend(self))
    if isServer { unsafe SSL_set_accept_state(ssl) } else { unsafe SSL_set_connect_state(ssl) }
  }

  deinit { unsafe SSL_free(ssl) }

  /// Sets the wire, once. It outlives this connection.
  func attach(to wire: any SecurityWire) { self.wire = wire }

  // MARK: - Calls

  /// Goes on with the handshake.
  func handshake() -> SSLOutcome {
    begin()
    return outcome(unsafe SSL_do_handshake(ssl))
  }

  /// Fills `buffer`, which has room, with plain bytes that are there already, asking the wire only for the first.
  /// - Returns: How many came, and why there are not more: `.done` for a full buffer, or nothing left.
  func read(into buffer: inout MutableRawSpan) -> (count: Int, outcome: SSLOutcome) {
    unsafe buffer.withUnsafeMutableBytes { bytes in
      var count = 0
      repeat {
        var got = 0
        begin()
        mayAskWire = count == 0
        let result = unsafe SSL_read_ex(
          ssl, bytes.baseAddress.unsafelyUnwrapped + count, bytes.count - count, &got)
        guard result == 1 else { return (count, outcome(result)) }
        count += got
      } while count < bytes.count && hasPending
      return (count, outcome(1))
    }
  }

  /// How many plain bytes there are at least, and why if there are none.
  func peek() -> (count: Int, outcome: SSLOutcome) {
    let pending = unsafe SSL_pending(ssl)
    if pending > 0 { return (Int(pending), .done) }
    begin()
    var byte: UInt8 = 0
    var got = 0
    let result = unsafe SSL_peek_ex(ssl, &byte, 1, &got)
    let outcome = outcome(result)
    return (outcome == .done ? max(1, unsafe Int(SSL_pending(ssl))) : 0, outcome)
  }

  /// Whether a part of a message of the peer's to OpenSSL is missing, a ticket for instance, behind which alone it writes.
  var isAmidMessage: Bool { unsafe SSL_in_init(ssl) == 1 }

  /// Secures all of `bytes`, which are not none.
  func write(_ bytes: RawSpan) -> SSLOutcome {
    begin()
    var taken = 0
    let result = unsafe bytes.withUnsafeBytes { bytes in
      unsafe SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &taken)
    }
    return outcome(result)
  }

  /// Tells the peer that no more is sent.
  func shutDown() {
    begin()
    _ = unsafe SSL_shutdown(ssl)
    emptyQueue()
  }

  /// Has the session stay of use though this side's close was never sent: the peer's was in order.
  func markShutDown() { unsafe SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN) }

  /// Whether bytes are here that no call looked at.
  var holdsInput: Bool { !isDrained && hasPending }

  private var hasPending: Bool { unsafe held != nil || SSL_has_pending(ssl) == 1 }

  /// What came from the wire behind the peer's close_notify.
  func takeRest() -> StreamBuffer? { held.take() }

  // MARK: - The wire, for the BIO

  func receiveSecured(into buffer: inout MutableRawSpan) -> IOResult {
    if held != nil { return .bytes(moveHeld(into: &buffer)) }
    guard mayAskWire, let wire else { return .wouldBlock }
    let result = wire.receiveSecured(into: &buffer)
    switch result {
    case .bytes(let count):
      isDrained = false
      let passed = pass(buffer.bytes.extracting(0..<count))
      if passed < count { held = StreamBuffer(copying: buffer.bytes.extracting(passed..<count)) }
      return .bytes(passed)
    case .wouldBlock: break
    case .end: hasWireEnded = true
    case .failed(let code): wireError = code
    }
    return result
  }

  private func moveHeld(into buffer: inout MutableRawSpan) -> Int {
    let room = buffer.byteCount
    let passed = held?.withBytes { bytes in pass(bytes.extracting(0..<min(room, bytes.byteCount))) } ?? 0
    let moved = held?.moveFirst(into: &buffer, atMost: passed) ?? 0
    if held?.count == 0 { held = nil }
    return moved
  }

  private func pass(_ bytes: RawSpan) -> Int {
    unsafe bytes.withUnsafeBytes { memory in unsafe records.pass(memory.bindMemory(to: UInt8.self).span) }
  }

  func sendSecured(_ bytes: RawSpan) { wire?.sendSecured(bytes) }

  // MARK: - Outcomes

  /// The queue of errors is the thread's, and others leave theirs there: one that is not this call's would be taken for its
  /// outcome.
  private func begin() {
    mayAskWire = true
    emptyQueue()
  }

  /// Looks first: emptying the queue costs ten times as much, and mostly it is.
  private func emptyQueue() {
    if ERR_peek_error() != 0 { ErrorQueue.clear() }
  }

  private func outcome(_ result: Int32) -> SSLOutcome {
    defer { emptyQueue() }
    if result == 1 { return .done }
    // Asked for first, as it looks at the queue of errors.
    let kind = unsafe SSL_get_error(ssl, result)
    switch kind {
    case SSL_ERROR_WANT_READ:
      isDrained = true
      return .wantsInput
    case SSL_ERROR_ZERO_RETURN: return .closed
    default:
      failure = whyFailed(kind)
      return .failed
    }
  }

  private func whyFailed(_ kind: Int32) -> TLSFailure {
    // What the wire said is the cause of whatever OpenSSL makes of it.
    if wireError != 0 { return TLSFailure(finder: .wire(wireError)) }
    guard kind == SSL_ERROR_SSL || kind == SSL_ERROR_SYSCALL else { return TLSFailure(finder: .nobody) }
    let error = ERR_peek_last_error()
    if error == 0 { return TLSFailure(finder: .end) }
    let (library, reason) = (ERR_GET_LIB(error), ERR_GET_REASON(error))
    let finder = TLSFailure.Finder.library(library, reason: reason)
    guard TLSFailure.isRefusedCertificate(library: library, reason: reason) else {
      return TLSFailure(finder: finder, words: ErrorQueue.takeReason())
    }
    let result = unsafe SSL_get_verify_result(ssl)
    let words = unsafe String(cString: X509_verify_cert_error_string(result))
    return TLSFailure(finder: finder, verifyResult: result, words: words)
  }
}

#endif
