// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A C client's context: a pointer to an object of ours, and the two C functions that keep it alive and count. All of the
// Demo's `Unmanaged` is here.

import Glibc
import SocketStreams
import Synchronization

/// How often contexts were retained and released.
final class ContextCounts: Sendable {
  private let retainCount = Atomic(0)
  private let releaseCount = Atomic(0)

  var retains: Int { retainCount.load(ordering: .relaxed) }
  var releases: Int { releaseCount.load(ordering: .relaxed) }
  /// Whether no context is held any more.
  var areBalanced: Bool { retains == releases }

  fileprivate func retained() -> Int { retainCount.add(1, ordering: .relaxed).newValue }
  fileprivate func released() -> Int { releaseCount.add(1, ordering: .relaxed).newValue }
}

/// What the `info` pointer of a C client points to.
///
/// The closures decide what an event means; the pointer is all that the C callback gets.
final class ClientInfo: Sendable {
  private let name: String
  private let total: ContextCounts
  private let own = ContextCounts()
  private let readEvent: (@Sendable (ReadStream, StreamEvent) -> Void)?
  private let writeEvent: (@Sendable (WriteStream, StreamEvent) -> Void)?
  private let event: (@Sendable (StreamEvent) -> Void)?
  private let trace: @Sendable (_ verb: String) -> Void

  /// - Parameters:
  ///   - counts: Counts with other clients'.
  ///   - read, write: Called by the C callback, on the stream's thread.
  ///   - trace: Called by the context's functions with "retain 1", "release 1".
  init(
    _ name: String, _ counts: ContextCounts, read: (@Sendable (ReadStream, StreamEvent) -> Void)? = nil,
    write: (@Sendable (WriteStream, StreamEvent) -> Void)? = nil,
    trace: @escaping @Sendable (_ verb: String) -> Void = { _ in }
  ) {
    self.name = name
    total = counts
    readEvent = read
    writeEvent = write
    event = nil
    self.trace = trace
  }

  /// For a client of one stream, which is told no stream and so may be of any type.
  init(
    _ name: String, _ counts: ContextCounts, event: @escaping @Sendable (StreamEvent) -> Void,
    trace: @escaping @Sendable (_ verb: String) -> Void
  ) {
    self.name = name
    total = counts
    readEvent = { _, happened in event(happened) }
    writeEvent = nil
    self.event = event
    self.trace = trace
  }

  /// Tells the client of an event, of which a callback with another signature than the library's was told.
  static func tell(_ info: UnsafeMutableRawPointer?, _ event: UInt) {
    guard let info = unsafe info, let event = StreamEvent(rawValue: event) else { return }
    unsafe from(info).event?(event)
  }

  private func retained() {
    _ = total.retained()
    trace("retain \(own.retained())")
  }

  private func released() {
    _ = total.released()
    trace("release \(own.released())")
  }

  /// The C callback of a read stream.
  static let readCallback: StreamClientCallback = { stream, event, info in
    guard let info = unsafe info, let event = StreamEvent(rawValue: event) else { return }
    unsafe ClientInfo.from(info).readEvent?(ReadStream.fromOpaque(stream), event)
  }

  /// The C callback of a write stream.
  static let writeCallback: StreamClientCallback = { stream, event, info in
    guard let info = unsafe info, let event = StreamEvent(rawValue: event) else { return }
    unsafe ClientInfo.from(info).writeEvent?(WriteStream.fromOpaque(stream), event)
  }

  /// The context that hands this object to a C callback. `setClient` retains it through `retain` before it returns.
  @unsafe var context: StreamClientContext {
    var context = unsafe StreamClientContext(info: Unmanaged.passUnretained(self).toOpaque())
    unsafe context.retain = { info in
      guard let info = unsafe info else { return nil }
      let client = unsafe ClientInfo.from(info)
      client.retained()
      return unsafe Unmanaged.passRetained(client).toOpaque()
    }
    unsafe context.release = { info in
      guard let info = unsafe info else { return }
      let client = unsafe ClientInfo.from(info)
      client.released()
      // Takes back the reference that `retain` gave.
      unsafe Unmanaged<ClientInfo>.fromOpaque(info).release()
    }
    unsafe context.copyDescription = { info in
      guard let info = unsafe info else { return nil }
      return unsafe strdup("client \(ClientInfo.from(info).name)")
    }
    return unsafe context
  }

  /// The object behind a pointer that `retain` has kept alive.
  @unsafe private static func from(_ info: UnsafeMutableRawPointer) -> ClientInfo {
    unsafe Unmanaged<ClientInfo>.fromOpaque(info).takeUnretainedValue()
  }
}
