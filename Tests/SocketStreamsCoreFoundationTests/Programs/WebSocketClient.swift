// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A program in the style of the WebSocket libraries: two CoreFoundation streams whose callbacks run on a dispatch queue.

import CoreFoundation
import Dispatch
import Foundation
import SocketStreamsCoreFoundation

/// A WebSocket connection.
///
/// `@unchecked Sendable`: everything that changes is touched on `queue` only.
final class WebSocketClient: @unchecked Sendable {
  enum Message: Equatable, Sendable {
    case connected
    case text(String)
    case pong([UInt8])
    /// The connection is over: with the code of the server's close frame, or with a stream's error code, or with neither.
    case disconnected(closeCode: Int?, errorCode: Int32?)
  }

  /// The example of RFC 6455, and the answer to it.
  private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
  private static let answerToKey = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

  let messages = Mailbox<Message>()
  private let host: String
  private let port: UInt16
  private let queue: DispatchQueue
  private let counts: ContextCounts

  private var input: CFReadStream?
  private var output: CFWriteStream?
  private var received: [UInt8] = []
  private var unsent: [UInt8] = []
  private var partialText: [UInt8] = []
  private var isUpgraded = false
  private var closeCode: Int?

  init(host: String, port: UInt16, queue: DispatchQueue, counts: ContextCounts) {
    self.host = host
    self.port = port
    self.queue = queue
    self.counts = counts
  }

  // MARK: - Calls, from any thread

  func connect() { queue.async { self.openStreams() } }
  func send(_ text: String) { send(.init(kind: .text, payload: Array(text.utf8))) }
  func ping(_ payload: [UInt8]) { send(.init(kind: .ping, payload: payload)) }
  func close(code: Int) {
    send(
      .init(kind: .close, payload: [UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)]))
  }

  private func send(_ frame: WebSocketFrame) {
    queue.async {
      self.unsent += frame.encoded()
      self.writeUnsent()
    }
  }

  // MARK: - On the queue

  private func openStreams() {
    dispatchPrecondition(condition: .onQueue(queue))
    let name = host.withCString { CFStringCreateWithCString(nil, $0, CFStringBuiltInEncodings.UTF8.rawValue) }
    var reading: Unmanaged<CFReadStream>?
    var writing: Unmanaged<CFWriteStream>?
    CFStreamCreatePairWithSocketToHost(nil, name, UInt32(port), &reading, &writing)
    guard let input = reading?.takeRetainedValue(), let output = writing?.takeRetainedValue() else { return }
    (self.input, self.output) = (input, output)

    var context = CFStreamClientContext()
    context.info = Unmanaged.passUnretained(self).toOpaque()
    context.retain = { info in
      let client = Unmanaged<WebSocketClient>.fromOpaque(info!).retain()
      client.takeUnretainedValue().counts.retained()
      return client.toOpaque()
    }
    context.release = { info in
      let client = Unmanaged<WebSocketClient>.fromOpaque(info!)
      client.takeUnretainedValue().counts.released()
      client.release()
    }
    let readMask: CFStreamEventType = [.hasBytesAvailable, .errorOccurred, .endEncountered]
    let writeMask: CFStreamEventType = [.openCompleted, .canAcceptBytes, .errorOccurred]
    CFReadStreamSetClient(input, readMask.rawValue, readStreamCalled, &context)
    CFWriteStreamSetClient(output, writeMask.rawValue, writeStreamCalled, &context)
    CFReadStreamSetDispatchQueue(input, queue)
    CFWriteStreamSetDispatchQueue(output, queue)
    if !CFReadStreamOpen(input) { return disconnect(CFReadStreamGetError(input).error) }
    if !CFWriteStreamOpen(output) { return disconnect(CFWriteStreamGetError(output).error) }
  }

  fileprivate func handle(readEvent event: CFStreamEventType) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let input else { return }
    switch event {
    case .hasBytesAvailable: readBytes(from: input)
    case .errorOccurred: disconnect(CFReadStreamGetError(input).error)
    case .endEncountered: disconnect(nil)
    default: break
    }
  }

  fileprivate func handle(writeEvent event: CFStreamEventType) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let output else { return }
    switch event {
    case .openCompleted: unsent = handshake + unsent
    case .canAcceptBytes: writeUnsent()
    case .errorOccurred: disconnect(CFWriteStreamGetError(output).error)
    default: break
    }
  }

  private var handshake: [UInt8] {
    let lines = [
      "GET / HTTP/1.1", "Host: \(host):\(port)", "Upgrade: websocket", "Connection: Upgrade",
      "Sec-WebSocket-Key: \(Self.key)", "Sec-WebSocket-Version: 13",
    ]
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }

  private func readBytes(from input: CFReadStream) {
    var piece = [UInt8](repeating: 0, count: 4_096)
    while CFReadStreamHasBytesAvailable(input) {
      let count = CFReadStreamRead(input, &piece, piece.count)
      // The end and a failure have events of their own.
      guard count > 0 else { break }
      received += piece[..<count]
    }
    if !isUpgraded { takeHandshake() }
    while isUpgraded, let frame = WebSocketFrame.take(from: &received) { handle(frame) }
  }

  private func takeHandshake() {
    guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
    let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
    guard head.hasPrefix("HTTP/1.1 101 "), head.contains("Sec-WebSocket-Accept: \(Self.answerToKey)") else {
      return disconnect(nil)
    }
    received.removeSubrange(..<end.upperBound)
    isUpgraded = true
    messages.put(.connected)
  }

  private func handle(_ frame: WebSocketFrame) {
    switch frame.kind {
    case .text, .more:
      partialText += frame.payload
      guard frame.isLast else { return }
      messages.put(.text(String(decoding: partialText, as: UTF8.self)))
      partialText = []
    case .binary: break
    case .ping: send(.init(kind: .pong, payload: frame.payload))
    case .pong: messages.put(.pong(frame.payload))
    case .close: closeCode = frame.payload.prefix(2).reduce(0) { $0 << 8 | Int($1) }
    }
  }

  private func writeUnsent() {
    guard let output else { return }
    while !unsent.isEmpty, CFWriteStreamCanAcceptBytes(output) {
      let count = CFWriteStreamWrite(output, unsent, unsent.count)
      guard count > 0 else { return }
      unsent.removeFirst(count)
    }
  }

  private func disconnect(_ errorCode: Int32?) {
    guard let input, let output else { return }
    (self.input, self.output) = (nil, nil)
    CFReadStreamSetClient(input, 0, nil, nil)
    CFWriteStreamSetClient(output, 0, nil, nil)
    CFReadStreamSetDispatchQueue(input, nil)
    CFWriteStreamSetDispatchQueue(output, nil)
    CFReadStreamClose(input)
    CFWriteStreamClose(output)
    messages.put(.disconnected(closeCode: closeCode, errorCode: errorCode))
  }
}

private func readStreamCalled(
  _ stream: CFReadStream?, _ event: CFStreamEventType, _ info: UnsafeMutableRawPointer?
) {
  Unmanaged<WebSocketClient>.fromOpaque(info!).takeUnretainedValue().handle(readEvent: event)
}

private func writeStreamCalled(
  _ stream: CFWriteStream?, _ event: CFStreamEventType, _ info: UnsafeMutableRawPointer?
) {
  Unmanaged<WebSocketClient>.fromOpaque(info!).takeUnretainedValue().handle(writeEvent: event)
}
