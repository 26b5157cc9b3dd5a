// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A pair bound to itself: what its write stream takes comes out of its read stream, within the process.

/// The transport of `StreamPair.bound(bufferSize:)`.
///
/// `@unchecked Sendable`: guarded by the pair's lock.
final class BoundTransport: StreamTransport, @unchecked Sendable {
  /// On the way from the write stream to the read stream, oldest first.
  private let pipe: Confined<StreamBuffer>
  // The listener owns this transport.
  private unowned var listener: (any TransportListener)?
  private var isEnded = false
  private var isReaderGone = false
  private(set) var isBlocked = false
  private(set) var limits: FlowLimits

  init(bufferSize: Int) {
    precondition(bufferSize > 0, "a bound pair needs room for at least one byte")
    pipe = Confined(StreamBuffer(capacity: bufferSize))
    limits = FlowLimits(outputLimit: bufferSize)
  }

  func open() -> Opening { .opened }
  func attach(_ descriptor: Int32, on base: EventBase?) {}
  func listen(_ listener: any TransportListener) { self.listener = listener }
  var descriptor: Int32? { nil }
  var usesDescriptor: Bool { false }
  var hasSocket: Bool { false }
  var canBeSecured: Bool { false }
  func end(_ ending: SocketSides.Ending) -> Farewell { .none }

  // MARK: - Coming out

  func receive(into buffer: inout MutableRawSpan) -> IOResult {
    // A write that fitted exactly was not refused, and waits for room all the same.
    let wasFull = isBlocked || !acceptsBytes
    let count = pipe.state.moveFirst(into: &buffer)
    if count == 0 { return isEnded ? .end : .wouldBlock }
    if wasFull {
      isBlocked = false
      listener?.roomSignalled()
    }
    return .bytes(count)
  }

  func peek() -> IOResult {
    if pipe.state.count > 0 { return .bytes(pipe.state.count) }
    return isEnded ? .end : .wouldBlock
  }

  func watchArrivals(_ watch: Watch, on loop: EventLoop, for half: EventTarget) {}

  func stopReceiving() {
    isReaderGone = true
    isBlocked = false
    listener?.roomSignalled()
  }

  // MARK: - Going in

  func send(_ bytes: RawSpan) -> IOResult {
    if isReaderGone { return .failed(Errno.brokenPipe) }
    let count = limits.room(queued: pipe.state.count, offered: bytes.byteCount)
    pipe.state.append(bytes.extracting(0..<count))
    isBlocked = count < bytes.byteCount
    if count > 0 { listener?.arrivalsSignalled() }
    return count > 0 ? .bytes(count) : .wouldBlock
  }

  func send(moving buffer: consuming StreamBuffer) -> IOResult {
    if isReaderGone { return .failed(Errno.brokenPipe) }
    let count = buffer.count
    buffer.withBytes { bytes in pipe.state.append(bytes) }
    listener?.arrivalsSignalled()
    return .bytes(count)
  }

  func setLimits(_ limits: FlowLimits) { self.limits = limits }

  var acceptsBytes: Bool { isReaderGone || limits.admitsMore(queued: pipe.state.count) }
  /// What is in the pipe is with the peer already.
  var queuedCount: Int { 0 }
  func drain() -> IOResult { .wouldBlock }
  func watchRoom(_ watch: Watch, on loop: EventLoop, for half: EventTarget) {}

  func finishSending() {
    isEnded = true
    listener?.arrivalsSignalled()
  }

  func dropQueue() { isBlocked = false }
}
