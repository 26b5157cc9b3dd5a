// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The oracle: a CFReadStream of plain callbacks, that signals its events from wherever they happen, as CoreFoundation's
// headers say a stream should. What CoreFoundation makes of it is what ours is compared with.

import CoreFoundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation

/// A read stream whose source the test plays.
protocol PlayedStream: AnyObject {
  var stream: CFReadStream { get }
  func opens()
  func receives(_ bytes: [UInt8])
  func ends()
  func fails()
  /// The caller has read.
  func wasRead()
}

/// On plain callbacks. Everything happens on the test's thread.
final class PlainStream: PlayedStream {
  private var made: CFReadStream!
  var stream: CFReadStream { made }
  private var bytes: [UInt8] = []
  private var isOpen = false
  private var isEnded = false
  private var failure: Int32?
  /// Bytes were announced, and not read since.
  private var isAnnounced = false
  /// What CFStream asked for, call by call.
  private(set) var requests: [CFOptionFlags] = []
  private var shown = UnsafeMutablePointer<UInt8>.allocate(capacity: 65_536)

  init() {
    var table = CFReadStreamCallBacks()
    table.version = 2
    table.open = { _, _, isComplete, _ in
      isComplete?.pointee = false
      return true
    }
    table.openCompleted = { _, _, info in PlainStream.from(info).isOpen }
    table.read = { _, buffer, count, failure, atEnd, info in
      PlainStream.from(info).take(into: buffer!, count, failure, atEnd)
    }
    table.getBuffer = { _, limit, count, failure, atEnd, info in
      let this = PlainStream.from(info)
      guard !this.bytes.isEmpty || this.isEnded || this.failure != nil else {
        count?.pointee = 0
        atEnd?.pointee = false
        return nil
      }
      let taken = this.take(into: this.shown, limit > 0 ? limit : 65_536, failure, atEnd)
      count?.pointee = max(0, taken)
      return taken > 0 ? UnsafePointer(this.shown) : nil
    }
    table.canRead = { _, _, info in
      let this = PlainStream.from(info)
      return !this.bytes.isEmpty || this.isEnded || this.failure != nil
    }
    table.requestEvents = { _, events, info in PlainStream.from(info).requests.append(events) }
    made = CFReadStreamCreate(nil, &table, Unmanaged.passUnretained(self).toOpaque())!.takeRetainedValue()
  }

  deinit { shown.deallocate() }

  private static func from(_ info: UnsafeMutableRawPointer?) -> PlainStream {
    Unmanaged<PlainStream>.fromOpaque(info!).takeUnretainedValue()
  }

  private func take(
    into memory: UnsafeMutablePointer<UInt8>, _ count: CFIndex,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?,
    _ atEnd: UnsafeMutablePointer<Bool>?
  ) -> CFIndex {
    atEnd?.pointee = false
    isAnnounced = false
    if bytes.isEmpty {
      if let failure {
        error?.pointee = .passRetained(CFErrorCreate(nil, kCFErrorDomainPOSIX, CFIndex(failure), nil))
        return -1
      }
      precondition(isEnded, "a script reads only what is there")
      atEnd?.pointee = true
      return 0
    }
    let taken = min(count, bytes.count)
    for index in 0..<taken { memory[index] = bytes[index] }
    bytes.removeFirst(taken)
    // An end signalled in here would be lost: CoreFoundation sets the status after the call.
    if !bytes.isEmpty { announce { _CFReadStreamSignalEventDelayed(stream, $0, $1) } }
    return taken
  }

  private func announce(_ signal: (CFStreamEventType, UnsafeRawPointer?) -> Void) {
    if !bytes.isEmpty {
      if !isAnnounced { signal(.hasBytesAvailable, nil) }
      isAnnounced = true
    } else if let failure {
      let error = CFErrorCreate(nil, kCFErrorDomainPOSIX, CFIndex(failure), nil)!
      signal(.errorOccurred, UnsafeRawPointer(Unmanaged.passUnretained(error).toOpaque()))
    } else if isEnded {
      signal(.endEncountered, nil)
    }
  }

  func opens() {
    isOpen = true
    CFReadStreamSignalEvent(stream, .openCompleted, nil)
  }

  func receives(_ more: [UInt8]) {
    bytes += more
    announce { CFReadStreamSignalEvent(stream, $0, $1) }
  }

  func ends() {
    isEnded = true
    announce { CFReadStreamSignalEvent(stream, $0, $1) }
  }

  func wasRead() { if bytes.isEmpty { announce { CFReadStreamSignalEvent(stream, $0, $1) } } }

  func fails() {
    failure = ECONNRESET
    announce { CFReadStreamSignalEvent(stream, $0, $1) }
  }
}

/// On our adapter, over a socket. After each event the library's thread has seen it.
final class AdaptedStream: PlayedStream {
  let stream: CFReadStream
  private let listener: RawListener
  private var peer: RawSocket?

  init() throws {
    listener = try RawListener()
    var reading: Unmanaged<CFReadStream>?
    CFStreamCreatePairWithSocketToHost(nil, "127.0.0.1".cf, UInt32(listener.port), &reading, nil)
    stream = reading!.takeRetainedValue()
  }

  func opens() {
    peer = listener.accept()
    letSee()
  }

  func receives(_ bytes: [UInt8]) {
    peer?.send(bytes)
    letSee()
  }

  func ends() {
    peer?.shutdownWrite()
    letSee()
  }

  func fails() {
    peer?.reset()
    letSee()
  }

  func wasRead() { letSee() }

  /// What came over loopback before is found by the loop no later than in its next pass.
  private func letSee() { for _ in 0..<4 { EventBase.shared.sync {} } }
}
