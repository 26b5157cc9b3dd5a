// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A security that secures nothing, for tests of the layer that real ones stand behind: it has a handshake, records that hide
// their bytes, a word for the end, and a question that has to be answered.
import SocketStreams

/// How a toy engine behaves.
struct ToySettings: SecuritySettings {
  var handshakeTimeout: Duration? = .seconds(20)
  /// What both sides have to say first.
  var hello = Array("TOYHELLO".utf8)
  /// Asked when both have said it.
  var approval: (@Sendable () -> Bool)?
  /// Told for whom an engine is made.
  var onMake: @Sendable (SecurityTarget) -> Void = { _ in }

  func makeEngine(for target: SecurityTarget) throws(StreamError) -> any SecurityEngine {
    onMake(target)
    return ToyEngine(self)
  }

  func isSame(as other: any SecuritySettings) -> Bool { (other as? ToySettings)?.hello == hello }
}

/// `@unchecked Sendable`: guarded by the lock of its pair.
final class ToyEngine: SecurityEngine, @unchecked Sendable {
  private enum Record: UInt8 { case data = 1, end, question, answer }

  private let settings: ToySettings
  private unowned var wire: (any SecurityWire)!
  private var hasSaidHello = false
  private var isDone = false
  private var hasFinished = false
  private var hasEnded = false
  private var secured: [UInt8] = []
  private var plain: [UInt8] = []
  private(set) var failure: StreamError?
  /// How many questions of the peer's were answered.
  private var answers = 0

  init(_ settings: ToySettings) { self.settings = settings }

  func attach(to wire: any SecurityWire) { self.wire = wire }
  var approval: (@Sendable () -> Bool)? { settings.approval }
  func refuse() { failure = .tls(.notApproved, "TLS handshake") }
  var peer: (any Sendable)? { isDone ? "toy" : nil }

  private func say(_ bytes: [UInt8]) { wire.sendSecured(bytes.span.bytes) }

  private func say(_ record: Record, _ bytes: [UInt8] = []) {
    say([record.rawValue, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)] + bytes.map { $0 ^ 0x5a })
  }

  func handshake() -> HandshakeProgress {
    if !hasSaidHello { say(settings.hello) }
    hasSaidHello = true
    while secured.count < settings.hello.count {
      guard pull("TLS handshake") else { return failure == nil ? .wouldBlock : .failed }
    }
    guard secured.starts(with: settings.hello) else {
      failure = .tls(.protocolError, "TLS handshake")
      return .failed
    }
    secured.removeFirst(settings.hello.count)
    isDone = true
    return .done
  }

  /// Takes from the wire. `false`: nothing is there, or the failure tells.
  private func pull(_ operation: String) -> Bool {
    var memory = [UInt8](repeating: 0, count: 1_000)
    var space = memory.mutableSpan
    var bytes = space.mutableBytes
    switch wire.receiveSecured(into: &bytes) {
    case .bytes(let count):
      secured += memory.prefix(count)
      return true
    case .wouldBlock: return false
    case .end:
      failure = .tls(.closedWithoutNotice, operation)
      return false
    case .failed(let code):
      failure = .posix(code, operation)
      return false
    }
  }

  private func parse() {
    while secured.count >= 3, !hasEnded {
      let count = Int(secured[1]) << 8 | Int(secured[2])
      guard secured.count >= 3 + count else { return }
      let payload = secured[3..<3 + count].map { $0 ^ 0x5a }
      switch Record(rawValue: secured[0]) {
      case .data: plain += payload
      case .end: hasEnded = true
      case .question: say(.answer)
      case .answer: answers += 1
      case nil: failure = failure ?? .tls(.badRecord, "read")
      }
      secured.removeFirst(3 + count)
    }
  }

  func peek() -> IOResult {
    parse()
    while plain.isEmpty, !hasEnded, failure == nil, pull("read") { parse() }
    if !plain.isEmpty { return .bytes(plain.count) }
    if hasEnded { return .end }
    return failure.map { .failed($0.code) } ?? .wouldBlock
  }

  func receive(into buffer: inout MutableRawSpan) -> IOResult {
    guard case .bytes = peek() else { return peek() }
    let count = min(plain.count, buffer.byteCount)
    for index in 0..<count { buffer.storeBytes(of: plain[index], toByteOffset: index, as: UInt8.self) }
    plain.removeFirst(count)
    return .bytes(count)
  }

  var holdsInput: Bool { !plain.isEmpty || !secured.isEmpty }

  func send(_ bytes: RawSpan) -> IOResult {
    if let failure { return .failed(failure.code) }
    precondition(bytes.byteCount <= largestSecuredPiece)
    say(.data, bytes.withUnsafeBytes { Array($0) })
    return .bytes(bytes.byteCount)
  }

  /// Something that the peer has to answer while it reads.
  func ask() { say(.question) }

  func takeRest() -> StreamBuffer? { secured.isEmpty ? nil : StreamBuffer(secured) }

  func finishSending() {
    guard isDone, failure == nil, !hasFinished else { return }
    hasFinished = true
    say(.end)
  }
}
