// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// CoreFoundation's functions for streams, which exist once for reading and once for writing, under one name.

import CoreFoundation
import SocketStreams

/// A `CFReadStream` or a `CFWriteStream`.
enum CFStreamHandle {
  case reading(CFReadStream)
  case writing(CFWriteStream)

  /// The event that a read or a write asks for again.
  var data: StreamEvent {
    switch self {
    case .reading: .hasBytesAvailable
    case .writing: .canAcceptBytes
    }
  }

  // MARK: - Status

  var status: StreamStatus {
    let status =
      switch self {
      case .reading(let stream): CFReadStreamGetStatus(stream)
      case .writing(let stream): CFWriteStreamGetStatus(stream)
      }
    return StreamStatus(rawValue: status.rawValue) ?? .error
  }

  /// Whether a read or a write would not wait.
  var hasData: Bool {
    switch self {
    case .reading(let stream): CFReadStreamHasBytesAvailable(stream)
    case .writing(let stream): CFWriteStreamCanAcceptBytes(stream)
    }
  }

  func open() {
    switch self {
    case .reading(let stream): _ = CFReadStreamOpen(stream)
    case .writing(let stream): _ = CFWriteStreamOpen(stream)
    }
  }

  func close() {
    switch self {
    case .reading(let stream): CFReadStreamClose(stream)
    case .writing(let stream): CFWriteStreamClose(stream)
    }
  }

  // MARK: - Run loops

  func schedule(_ loop: CFRunLoop, _ mode: CFString) {
    switch self {
    case .reading(let stream): CFReadStreamScheduleWithRunLoop(stream, loop, mode)
    case .writing(let stream): CFWriteStreamScheduleWithRunLoop(stream, loop, mode)
    }
  }

  func unschedule(_ loop: CFRunLoop, _ mode: CFString) {
    switch self {
    case .reading(let stream): CFReadStreamUnscheduleFromRunLoop(stream, loop, mode)
    case .writing(let stream): CFWriteStreamUnscheduleFromRunLoop(stream, loop, mode)
    }
  }

  // MARK: - Events, for the streams of this package

  /// Passes on an event, on a loop of the client's: the client is called here and now.
  func signal(_ event: StreamEvent, _ error: CFError?) {
    let type = CFStreamEventType(rawValue: event.rawValue)
    switch self {
    case .reading(let stream): unsafe CFReadStreamSignalEvent(stream, type, error?.rawPointer)
    case .writing(let stream): unsafe CFWriteStreamSignalEvent(stream, type, error?.rawPointer)
    }
  }

  /// Passes on an event, and leaves the call of the client to a later turn.
  func signalDelayed(_ event: StreamEvent, _ error: CFError?) {
    let type = CFStreamEventType(rawValue: event.rawValue)
    switch self {
    case .reading(let stream): unsafe _CFReadStreamSignalEventDelayed(stream, type, error?.rawPointer)
    case .writing(let stream): unsafe _CFWriteStreamSignalEventDelayed(stream, type, error?.rawPointer)
    }
  }

  /// The stream's dispatch queue, retained.
  func copyQueue() -> UnsafeMutableRawPointer? {
    switch self {
    case .reading(let stream): unsafe SocketStreamsCopyReadQueue(stream)
    case .writing(let stream): unsafe SocketStreamsCopyWriteQueue(stream)
    }
  }
}
