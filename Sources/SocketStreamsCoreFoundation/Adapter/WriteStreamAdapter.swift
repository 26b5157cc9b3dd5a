// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The writing half: CFWriteStream's callbacks, answered by a WriteStream.

import CoreFoundation
import SocketStreams

/// The `info` of a `CFWriteStream`.
///
/// `@unchecked Sendable`: as ``StreamAdapter``.
@safe
final class WriteStreamAdapter: StreamAdapter, @unchecked Sendable {
  private let output: WriteStream

  init(_ output: WriteStream, socket: SharedSocket, refusal: StreamError?) {
    self.output = output
    super.init(output, data: .canAcceptBytes, socket: socket, refusal: refusal)
  }

  /// The stream of CoreFoundation for `adapter`, owned by the caller.
  static func makeStream(_ adapter: WriteStreamAdapter, _ allocator: CFAllocator?) -> Unmanaged<
    CFWriteStream
  >? {
    var callBacks = Self.callBacks
    let info = unsafe Unmanaged.passRetained(adapter)
    guard let made = unsafe CFWriteStreamCreate(allocator, &callBacks, info.toOpaque()) else {
      unsafe info.release()
      return nil
    }
    unsafe adapter.identity = Unmanaged<AnyObject>.fromOpaque(made.toOpaque())
    return unsafe made
  }

  // MARK: - What StreamAdapter asks

  override func listen(to events: StreamEvents) {
    output.setClient(events) { [self] _, event in happened(event) }
    if events.isEmpty { output.unschedule(from: .shared) } else { output.schedule(on: .shared) }
  }

  override func end() { socket.close(output) }
  override func findData() -> Bool { output.canAcceptBytes }

  override var handle: CFStreamHandle {
    // The stream owns this adapter, which it is the identity of.
    unsafe .writing(Unmanaged<CFWriteStream>.fromOpaque(identity!.toOpaque()).takeUnretainedValue())
  }

  // MARK: - Writing

  /// Waits until a byte is taken, or for a failure.
  /// - Returns: How many bytes were taken, 1 or more; -1 with an error, or without one for no bytes: CFStream would take
  ///   a 0 for the end of the stream.
  func write(_ memory: UnsafeRawBufferPointer, _ failure: ErrorPlace?) -> CFIndex {
    if unsafe memory.isEmpty { return -1 }
    dataMoves()
    do {
      while true {
        if let count = try unsafe output.write(memory) { return count }
        _ = output.waitUntilReady()
        // By another thread. The connection may go on, for the read stream.
        if isClosed { return -1 }
      }
    } catch {
      // Closed meanwhile by another thread, which is no failure.
      if !isClosed { unsafe failure?.report(error) }
      return -1
    }
  }

  /// Whether a write of one byte would not wait. A failure is reported here too, since who polls hears of it nowhere else.
  func canWrite(_ failure: ErrorPlace?) -> Bool {
    if output.canAcceptBytes { return true }
    unsafe failure?.report(output.error)
    return false
  }

  // MARK: - The table

  private static var callBacks: CFWriteStreamCallBacks {
    var table = CFWriteStreamCallBacks()
    table.version = 2
    unsafe table.finalize = { _, info in
      unsafe Unmanaged<WriteStreamAdapter>.fromOpaque(info!).takeRetainedValue().close()
    }
    unsafe table.open = { _, failure, isComplete, info in
      let isOpening = unsafe adapter(info).open(failure)
      unsafe isComplete?.pointee = !isOpening
      return isOpening
    }
    unsafe table.openCompleted = { _, failure, info in unsafe adapter(info).openCompleted(failure) }
    unsafe table.write = { _, buffer, length, failure, info in
      let memory = unsafe UnsafeRawBufferPointer(start: buffer, count: buffer == nil ? 0 : max(length, 0))
      return unsafe adapter(info).write(memory, failure)
    }
    unsafe table.canWrite = { _, failure, info in unsafe adapter(info).canWrite(failure) }
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

private func adapter(_ info: UnsafeMutableRawPointer?) -> WriteStreamAdapter {
  unsafe Unmanaged<WriteStreamAdapter>.fromOpaque(info!).takeUnretainedValue()
}
