// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The reading half: CFReadStream's callbacks, answered by a ReadStream.

import CoreFoundation
import SocketStreams

/// The `info` of a `CFReadStream`.
///
/// `@unchecked Sendable`: as ``StreamAdapter``; the buffer belongs to who reads, one at a time.
@safe
final class ReadStreamAdapter: StreamAdapter, @unchecked Sendable {
  private let input: ReadStream
  /// What ``getBuffer(atMost:_:)`` shows. Made by the first call.
  private var shown = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)

  init(_ input: ReadStream, socket: SharedSocket, refusal: StreamError?) {
    self.input = input
    super.init(input, data: .hasBytesAvailable, socket: socket, refusal: refusal)
  }

  deinit { unsafe shown.deallocate() }

  /// The stream of CoreFoundation for `adapter`, owned by the caller.
  static func makeStream(_ adapter: ReadStreamAdapter, _ allocator: CFAllocator?) -> Unmanaged<CFReadStream>?
  {
    var callBacks = Self.callBacks
    let info = unsafe Unmanaged.passRetained(adapter)
    guard let made = unsafe CFReadStreamCreate(allocator, &callBacks, info.toOpaque()) else {
      unsafe info.release()
      return nil
    }
    unsafe adapter.identity = Unmanaged<AnyObject>.fromOpaque(made.toOpaque())
    return unsafe made
  }

  // MARK: - What StreamAdapter asks

  override func listen(to events: StreamEvents) {
    input.setClient(events) { [self] _, event in happened(event) }
    if events.isEmpty { input.unschedule(from: .shared) } else { input.schedule(on: .shared) }
  }

  override func end() { socket.close(input) }
  override func findData() -> Bool { input.findBytes() }

  override var handle: CFStreamHandle {
    // The stream owns this adapter, which it is the identity of.
    unsafe .reading(Unmanaged<CFReadStream>.fromOpaque(identity!.toOpaque()).takeUnretainedValue())
  }

  // MARK: - Reading

  /// Waits for a byte, the end, or a failure.
  /// - Returns: How many bytes were read; 0 at the end; -1 with or without an error.
  func read(
    into memory: UnsafeMutableRawBufferPointer, _ failure: ErrorPlace?, _ atEnd: UnsafeMutablePointer<Bool>?
  )
    -> CFIndex
  {
    unsafe atEnd?.pointee = false
    if unsafe memory.isEmpty { return 0 }
    dataMoves()
    do {
      while true {
        if let count = try unsafe input.read(into: memory) {
          unsafe atEnd?.pointee = count == 0
          return count
        }
        _ = input.waitUntilReady()
      }
    } catch {
      // Closed meanwhile by another thread, which is no failure.
      if !isClosed { unsafe failure?.report(error) }
      return -1
    }
  }

  /// Reads what is there, without waiting, into memory of the adapter's own.
  func getBuffer(
    atMost limit: CFIndex, _ count: UnsafeMutablePointer<CFIndex>?, _ failure: ErrorPlace?,
    _ atEnd: UnsafeMutablePointer<Bool>?
  ) -> UnsafePointer<UInt8>? {
    unsafe atEnd?.pointee = false
    unsafe count?.pointee = 0
    guard wouldReadAtOnce else {
      unsafe failure?.report(input.error)
      return nil
    }
    dataMoves()
    if unsafe shown.isEmpty {
      unsafe shown = .allocate(byteCount: 32_768, alignment: 16)
    }
    let room = unsafe limit > 0 ? min(limit, shown.count) : shown.count
    do {
      guard let read = try unsafe input.read(into: UnsafeMutableRawBufferPointer(rebasing: shown[..<room]))
      else {
        return nil
      }
      unsafe atEnd?.pointee = read == 0
      unsafe count?.pointee = read
      return read == 0 ? nil : unsafe UnsafePointer(shown.baseAddress!.assumingMemoryBound(to: UInt8.self))
    } catch {
      unsafe failure?.report(error)
      return nil
    }
  }

  /// Whether bytes are there, or the end: of that the core has told this adapter already, and CFStream not yet its client.
  private var wouldReadAtOnce: Bool { input.hasBytesAvailable || input.status == .atEnd }

  /// Whether a read would not wait. A failure is reported here too, since who polls hears of it nowhere else.
  func canRead(_ failure: ErrorPlace?) -> Bool {
    if wouldReadAtOnce { return true }
    unsafe failure?.report(input.error)
    return false
  }

  // MARK: - The table

  private static var callBacks: CFReadStreamCallBacks {
    var table = CFReadStreamCallBacks()
    table.version = 2
    unsafe table.finalize = { _, info in
      unsafe Unmanaged<ReadStreamAdapter>.fromOpaque(info!).takeRetainedValue().close()
    }
    unsafe table.open = { _, failure, isComplete, info in
      let isOpening = unsafe adapter(info).open(failure)
      unsafe isComplete?.pointee = !isOpening
      return isOpening
    }
    unsafe table.openCompleted = { _, failure, info in unsafe adapter(info).openCompleted(failure) }
    unsafe table.read = { _, buffer, length, failure, atEnd, info in
      let memory = unsafe UnsafeMutableRawBufferPointer(
        start: buffer, count: buffer == nil ? 0 : max(length, 0))
      return unsafe adapter(info).read(into: memory, failure, atEnd)
    }
    unsafe table.getBuffer = { _, limit, count, failure, atEnd, info in
      unsafe adapter(info).getBuffer(atMost: limit, count, failure, atEnd)
    }
    unsafe table.canRead = { _, failure, info in unsafe adapter(info).canRead(failure) }
    unsafe table.close = { _, info in unsafe adapter(info).close() }
    unsafe table.copyProperty = { _, name, info in unsafe adapter(info).copyProperty(name) }
    unsafe table.setProperty = { _, name, value, info in unsafe adapter(info).setProperty(name, to: value) }
    unsafe table.requestEvents = { _, events, info in
      unsafe adapter(info).request(StreamEvents(rawValue: events))
    }
    unsafe table.schedule = { _, loop, mode, info in unsafe adapter(info).schedule(loop!, mode!) }
    unsafe table.unschedule = { _, loop, mode, info in unsafe adapter(info).unschedule(loop!, mode!) }
    return table
  }
}

private func adapter(_ info: UnsafeMutableRawPointer?) -> ReadStreamAdapter {
  unsafe Unmanaged<ReadStreamAdapter>.fromOpaque(info!).takeUnretainedValue()
}
