// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// CoreFoundation's own streams with their client on a dispatch queue, and no run loop anywhere: CFDispatchQueue host port

import CoreFoundation
import Dispatch
import Foundation
import SocketStreamsCoreFoundation

/// A connection of which everything happens on one serial queue.
final class QueuedConnection {
  private let queue = DispatchQueue(label: "connection")
  private let reading: CFReadStream
  private let writing: CFWriteStream
  private var unsent: [UInt8]

  init?(host: String, port: UInt32, sending bytes: [UInt8]) {
    var reading: Unmanaged<CFReadStream>?
    var writing: Unmanaged<CFWriteStream>?
    let name = CFStringCreateWithCString(nil, host, CFStringBuiltInEncodings.UTF8.rawValue)
    CFStreamCreatePairWithSocketToHost(nil, name, port, &reading, &writing)
    guard let reading, let writing else { return nil }
    self.reading = reading.takeRetainedValue()
    self.writing = writing.takeRetainedValue()
    unsent = bytes
  }

  func open() {
    var context = CFStreamClientContext()
    context.info = Unmanaged.passUnretained(self).toOpaque()
    let readEvents: CFStreamEventType = [.hasBytesAvailable, .endEncountered, .errorOccurred]
    CFReadStreamSetClient(
      reading, readEvents.rawValue,
      { _, event, info in
        Unmanaged<QueuedConnection>.fromOpaque(info!).takeUnretainedValue().readEvent(event)
      }, &context)
    CFWriteStreamSetClient(
      writing, CFStreamEventType.canAcceptBytes.rawValue,
      { _, _, info in Unmanaged<QueuedConnection>.fromOpaque(info!).takeUnretainedValue().send() }, &context)

    CFReadStreamSetDispatchQueue(reading, queue)
    CFWriteStreamSetDispatchQueue(writing, queue)
    queue.sync {
      CFReadStreamOpen(reading)
      CFWriteStreamOpen(writing)
    }
  }

  /// Takes the streams off the queue, on the queue: nothing is called afterwards.
  func close() {
    CFReadStreamSetDispatchQueue(reading, nil)
    CFWriteStreamSetDispatchQueue(writing, nil)
    CFReadStreamClose(reading)
    CFWriteStreamClose(writing)
  }

  private func send() {
    while !unsent.isEmpty, CFWriteStreamCanAcceptBytes(writing) {
      let count = CFWriteStreamWrite(writing, unsent, unsent.count)
      if count <= 0 { return }
      unsent.removeFirst(count)
    }
  }

  private func readEvent(_ event: CFStreamEventType) {
    guard event == .hasBytesAvailable else {
      close()
      exit(event == .endEncountered ? 0 : 1)
    }
    var room = [UInt8](repeating: 0, count: 4096)
    let count = CFReadStreamRead(reading, &room, room.count)
    if count > 0 { print(String(decoding: room.prefix(count), as: UTF8.self), terminator: "") }
  }
}

let arguments = CommandLine.arguments.dropFirst()
if let host = arguments.first, let port = arguments.dropFirst().first.flatMap({ UInt32($0) }) {
  let connection = QueuedConnection(host: host, port: port, sending: Array("hello\n".utf8))
  connection?.open()
  dispatchMain()
}
