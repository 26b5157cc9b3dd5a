// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What Foundation's streams ask of the CF stream behind them, in Foundation's terms.

import CoreFoundation
import Foundation
import SocketStreams

extension CFStreamHandle {
  var error: NSError? {
    let error =
      switch self {
      case .reading(let stream): CFReadStreamCopyError(stream)
      case .writing(let stream): CFWriteStreamCopyError(stream)
      }
    return error.map(NSError.init(cfError:))
  }

  // MARK: - Properties

  func property(_ key: Stream.PropertyKey) -> AnyObject? {
    switch self {
    case .reading(let stream): CFReadStreamCopyProperty(stream, key.rawValue.cfString)
    case .writing(let stream): CFWriteStreamCopyProperty(stream, key.rawValue.cfString)
    }
  }

  func setProperty(_ key: Stream.PropertyKey, to value: AnyObject?) -> Bool {
    switch self {
    case .reading(let stream): CFReadStreamSetProperty(stream, key.rawValue.cfString, value)
    case .writing(let stream): CFWriteStreamSetProperty(stream, key.rawValue.cfString, value)
    }
  }

  /// Whether the connection is secured, or is going to be.
  var isSecured: Bool {
    let level = property(.socketSecurityLevelKey) as? String
    return level.flatMap(SecurityLevel.init(name:)) ?? SecurityLevel.none != .none
  }

  // MARK: - The client

  /// Has `client`, which the stream retains, hear of every event.
  func setClient(_ client: DelegateDelivery) {
    var context = unsafe CFStreamClientContext()
    unsafe context.info = Unmanaged.passUnretained(client).toOpaque()
    unsafe context.retain = { info in
      guard let info = unsafe info else { return nil }
      return unsafe Unmanaged<DelegateDelivery>.fromOpaque(info).retain().toOpaque()
    }
    unsafe context.release = { info in
      if let info = unsafe info { unsafe Unmanaged<DelegateDelivery>.fromOpaque(info).release() }
    }
    switch self {
    case .reading(let stream):
      let events = StreamEvents.all.subtracting(.canAcceptBytes).rawValue
      unsafe CFReadStreamSetClient(stream, events, { _, event, info in unsafe tell(info, event) }, &context)
    case .writing(let stream):
      let events = StreamEvents.all.subtracting(.hasBytesAvailable).rawValue
      unsafe CFWriteStreamSetClient(stream, events, { _, event, info in unsafe tell(info, event) }, &context)
    }
  }
}

/// The client's call. Without an `info` it was removed meanwhile.
private func tell(_ info: UnsafeMutableRawPointer?, _ event: CFStreamEventType) {
  guard let info = unsafe info, let event = StreamEvent(rawValue: event.rawValue) else { return }
  unsafe Unmanaged<DelegateDelivery>.fromOpaque(info).takeUnretainedValue().happened(event)
}
