// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A pair whose peer is a script: a test says when it opens, what arrives in which pieces, how much is taken, and how
// it ends. The seam that socket transports stand behind, without any descriptor.

/// The transport of `ScriptedPeer`.
///
/// `@unchecked Sendable`: guarded by the pair's lock.
final class ScriptedTransport: StreamTransport, @unchecked Sendable {
  // The listener owns this transport.
  private unowned var listener: (any TransportListener)?
  private let opensAtOnce: Bool
  var arrived = StreamBuffer(capacity: 4_096)
  var sent: [UInt8] = []
  /// The most that one read takes.
  var largestRead = Int.max
  /// How many more bytes the peer takes.
  var acceptance = Int.max
  /// The most that one write takes.
  var largestWrite = Int.max
  var isEnded = false
  var failure: Int32?
  private(set) var isSendingFinished = false
  private(set) var isBlocked = false
  private var queue = StreamBuffer(capacity: 4_096)
  private(set) var limits = FlowLimits(outputLimit: 0)

  init(opensAtOnce: Bool) { self.opensAtOnce = opensAtOnce }

  func open() -> Opening { opensAtOnce ? .opened : .pending }
  func attach(_ descriptor: Int32, on base: EventBase?) {}
  func listen(_ listener: any TransportListener) { self.listener = listener }
  var descriptor: Int32? { nil }
  var usesDescriptor: Bool { false }
  var hasSocket: Bool { false }
  func end(_ ending: SocketSides.Ending) -> Farewell {
    if ending != .abort { isSendingFinished = true }
    return .none
  }

  func receive(into buffer: inout MutableRawSpan) -> IOResult {
    let count = arrived.moveFirst(into: &buffer, atMost: largestRead)
    return count > 0 ? .bytes(count) : peek()
  }

  func peek() -> IOResult {
    if arrived.count > 0 { return .bytes(arrived.count) }
    if let failure { return .failed(failure) }
    return isEnded ? .end : .wouldBlock
  }

  func watchArrivals(_ watch: Watch, on loop: EventLoop, for half: EventTarget) {}
  func stopReceiving() {}

  func send(_ bytes: RawSpan) -> IOResult {
    if let failure { return .failed(failure) }
    var taken = 0
    if queue.count == 0 {
      taken = min(bytes.byteCount, min(largestWrite, acceptance))
      pass(bytes.extracting(0..<taken))
    }
    let room = limits.room(queued: queue.count, offered: bytes.byteCount - taken)
    queue.append(bytes.extracting(taken..<taken + room))
    isBlocked = taken + room < bytes.byteCount
    return taken + room > 0 ? .bytes(taken + room) : .wouldBlock
  }

  func send(moving buffer: consuming StreamBuffer) -> IOResult {
    if let failure { return .failed(failure) }
    let count = buffer.count
    buffer.withBytes { bytes in queue.append(bytes) }
    _ = drain()
    return .bytes(count)
  }

  private func pass(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe sent.append(contentsOf: $0) }
    if acceptance != .max { acceptance -= bytes.byteCount }
  }

  func setLimits(_ limits: FlowLimits) { self.limits = limits }

  var acceptsBytes: Bool {
    if failure != nil { return true }
    return (queue.count == 0 && acceptance > 0) || limits.admitsMore(queued: queue.count)
  }
  var queuedCount: Int { queue.count }

  func drain() -> IOResult {
    if let failure { return .failed(failure) }
    let taken = min(queue.count, acceptance)
    queue.withBytes { bytes in pass(bytes.extracting(0..<taken)) }
    queue.dropFirst(taken)
    isBlocked = false
    return taken > 0 ? .bytes(taken) : .wouldBlock
  }

  func watchRoom(_ watch: Watch, on loop: EventLoop, for half: EventTarget) {}
  func finishSending() { isSendingFinished = true }

  func dropQueue() {
    queue = StreamBuffer(capacity: 4_096)
    isBlocked = false
  }

  /// Something was changed by the script.
  func signal() {
    listener?.arrivalsSignalled()
    listener?.roomSignalled()
  }

  func finishOpening(_ error: StreamError?) { listener?.openingFinished(error) }
}
