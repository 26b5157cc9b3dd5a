// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// One half of a CoreFoundation pair: what CFStream asks of a concrete stream, answered by a stream of the core. How events
// get to the client is in StreamAdapter+Delivery.swift.

import CoreFoundation
import SocketStreams

/// The `info` of a `CFReadStream` or `CFWriteStream` of ours.
///
/// CFStream guards little of its own state: what it is told on another thread than its client's can be lost. So all that is
/// true is kept here and in the core's stream; the library's thread changes only that, and CFStream is told by a run loop
/// source of the adapter's, on a thread that runs a loop of the client's.
///
/// `@unchecked Sendable`: what changes is guarded by `lock`, or set before anyone else knows the adapter.
@safe
class StreamAdapter: @unchecked Sendable {
  /// The core's stream.
  final let stream: SocketStream
  final let socket: SharedSocket
  /// A failure that `open` reports without trying to connect.
  final let refusal: StreamError?

  final let lock = Lock()
  /// Guarded by ``lock``.
  final var delivery: Delivery
  /// The event that a read or a write asks for again.
  final let data: StreamEvent
  /// The CF stream, which owns this adapter. Set when it is made.
  final var identity: Unmanaged<AnyObject>?

  init(_ stream: SocketStream, data: StreamEvent, socket: SharedSocket, refusal: StreamError?) {
    self.stream = stream
    self.socket = socket
    self.refusal = refusal
    self.data = data
    delivery = Delivery(due: DueEvents(data: data))
  }

  // MARK: - What the two kinds of stream answer

  /// Has the core's stream tell this adapter of these events, on the library's thread, from now on; of none, at no cost.
  func listen(to events: StreamEvents) {}
  /// Ends the core's stream, opened or not.
  func end() {}
  /// Whether the event of bytes or room still holds.
  func findData() -> Bool { false }
  /// The CF stream, by its kind.
  var handle: CFStreamHandle { preconditionFailure("a stream is for reading or for writing") }

  // MARK: - Opening

  /// - Returns: Whether opening has begun. It is never complete at once: who polls the status learns it by
  ///   ``openCompleted(_:)``, and who is scheduled by the event.
  final func open(_ failure: ErrorPlace?) -> Bool {
    if let refusal {
      unsafe failure?.report(refusal)
      return false
    }
    guard stream.open() else {
      // CFStream tells of this itself, so that the client is not to hear of it from here.
      unsafe failure?.report(stream.error ?? .misuse(.notOpen, "open"))
      return false
    }
    begin()
    return true
  }

  /// Whether opening has ended, by success or with a failure. Never blocks.
  final func openCompleted(_ failure: ErrorPlace?) -> Bool {
    switch stream.status {
    case .notOpen, .opening: return false
    case .error:
      unsafe failure?.report(stream.error)
      return true
    default: return true
    }
  }

  /// CFStream has closed, or lets go.
  final func close() {
    let isLent =
      stream.property(.socketNativeHandle) != nil && stream.property(.shouldCloseNativeSocket) == false
    finish()
    end()
    // Its owner may do with the descriptor what it likes when both streams are closed: so the library's thread, on which no
    // client is ever called, has to be done with it by then.
    if isLent { EventBase.shared.sync {} }
  }
}

/// Where CFStream wants an error to be put.
typealias ErrorPlace = UnsafeMutablePointer<Unmanaged<CFError>?>

extension ErrorPlace {
  func report(_ error: StreamError?) {
    if let error { unsafe pointee = .passRetained(error.cfError) }
  }
}
