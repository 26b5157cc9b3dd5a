// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A program in the style of the CFNetwork guides: two streams with C callbacks and a client context, on a thread of its own
// that runs CFRunLoopRun until the end or an error.

import CoreFoundation
import Foundation
import SocketStreamsCoreFoundation

/// Asks an HTTP server for one file.
///
/// `@unchecked Sendable`: after ``start()`` everything is touched by its thread only, and read by others when that has ended.
final class HTTPReader: @unchecked Sendable {
  let counts: ContextCounts
  /// Called on the thread when the first bytes were read.
  var firstBytes: () -> Void = {}
  private(set) var head = ""
  private(set) var body: [UInt8] = []
  private(set) var readEvents: [CFStreamEventType] = []
  private(set) var writeEvents: [CFStreamEventType] = []
  /// What the stream reported; domain 0 for nothing.
  private(set) var error = CFStreamError(domain: 0, error: 0)
  private(set) var answersOfOpen: [Bool] = []
  private(set) var callsOnOtherThreads = 0

  private let host: String
  private let port: UInt16
  private var request: [UInt8]
  private var received: [UInt8] = []
  private var input: CFReadStream?
  private var output: CFWriteStream?
  private var loop: CFRunLoop?
  private let ended = DispatchSemaphore(value: 0)

  /// - Parameter path: What is asked for; `nil` to only listen to what the server says.
  init(host: String, port: UInt16, path: String?, counts: ContextCounts) {
    self.host = host
    self.port = port
    self.counts = counts
    request = path.map { Array("GET \($0) HTTP/1.0\r\nHost: \(host)\r\n\r\n".utf8) } ?? []
  }

  /// The status of the reply's first line.
  var status: Int? {
    let words = head.split(separator: " ", maxSplits: 2)
    return words.count > 1 ? Int(words[1]) : nil
  }

  /// Whether the body is as long as the reply's head says.
  var isWhole: Bool {
    let field = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
    return field?.split(separator: " ").last.flatMap { Int($0) } == body.count
  }

  func start() {
    let thread = Thread { [self] in
      if openStreams() { CFRunLoopRun() }
      closeStreams()
      ended.signal()
    }
    thread.name = "http"
    thread.start()
  }

  /// Waits until the thread has left its loop.
  func waitForEnd(seconds: Double = 20) -> Bool { ended.wait(timeout: .now() + seconds) == .success }

  // MARK: - On the thread

  private func openStreams() -> Bool {
    loop = CFRunLoopGetCurrent()
    let name = host.withCString {
      CFStringCreateWithCString(nil, $0, CFStringBuiltInEncodings.UTF8.rawValue)
    }
    var reading: Unmanaged<CFReadStream>?
    var writing: Unmanaged<CFWriteStream>?
    if request.isEmpty {
      CFStreamCreatePairWithSocketToHost(nil, name, UInt32(port), &reading, nil)
    } else {
      CFStreamCreatePairWithSocketToHost(nil, name, UInt32(port), &reading, &writing)
    }
    input = reading?.takeRetainedValue()
    output = writing?.takeRetainedValue()

    var context = CFStreamClientContext()
    context.info = Unmanaged.passUnretained(self).toOpaque()
    context.retain = { info in
      let retained = Unmanaged<HTTPReader>.fromOpaque(info!).retain()
      retained.takeUnretainedValue().counts.retained()
      return retained.toOpaque()
    }
    context.release = { info in
      let released = Unmanaged<HTTPReader>.fromOpaque(info!)
      released.takeUnretainedValue().counts.released()
      released.release()
    }
    let readMask: CFStreamEventType = [.openCompleted, .hasBytesAvailable, .errorOccurred, .endEncountered]
    let writeMask: CFStreamEventType = [.openCompleted, .canAcceptBytes, .errorOccurred]
    if let input {
      guard CFReadStreamSetClient(input, readMask.rawValue, readStreamCalled, &context) else { return false }
      CFReadStreamScheduleWithRunLoop(input, loop, kCFRunLoopCommonModes)
      answersOfOpen.append(CFReadStreamOpen(input))
      if answersOfOpen.last == false { error = CFReadStreamGetError(input) }
    }
    if let output {
      guard CFWriteStreamSetClient(output, writeMask.rawValue, writeStreamCalled, &context) else {
        return false
      }
      CFWriteStreamScheduleWithRunLoop(output, loop, kCFRunLoopCommonModes)
      answersOfOpen.append(CFWriteStreamOpen(output))
      // The connection may have failed already.
      if answersOfOpen.last == false { error = CFWriteStreamGetError(output) }
    }
    return input != nil && !answersOfOpen.contains(false)
  }

  fileprivate func handle(readEvent event: CFStreamEventType) {
    if CFRunLoopGetCurrent() !== loop { callsOnOtherThreads += 1 }
    readEvents.append(event)
    switch event {
    case .hasBytesAvailable: readBytes()
    case .errorOccurred:
      error = CFReadStreamGetError(input)
      CFRunLoopStop(loop)
    case .endEncountered: CFRunLoopStop(loop)
    default: break
    }
  }

  fileprivate func handle(writeEvent event: CFStreamEventType) {
    if CFRunLoopGetCurrent() !== loop { callsOnOtherThreads += 1 }
    writeEvents.append(event)
    switch event {
    case .canAcceptBytes: writeRequest()
    case .errorOccurred:
      error = CFWriteStreamGetError(output)
      CFRunLoopStop(loop)
    default: break
    }
  }

  private func readBytes() {
    var piece = [UInt8](repeating: 0, count: 16_384)
    let count = CFReadStreamRead(input, &piece, piece.count)
    // The end and a failure have events of their own.
    guard count > 0 else { return }
    let isFirst = received.isEmpty
    received += piece[..<count]
    if isFirst { firstBytes() }
  }

  private func writeRequest() {
    guard !request.isEmpty else { return }
    let count = CFWriteStreamWrite(output, request, request.count)
    if count > 0 { request.removeFirst(count) }
  }

  private func closeStreams() {
    if let input {
      CFReadStreamSetClient(input, 0, nil, nil)
      CFReadStreamUnscheduleFromRunLoop(input, loop, kCFRunLoopCommonModes)
      CFReadStreamClose(input)
    }
    if let output {
      CFWriteStreamSetClient(output, 0, nil, nil)
      CFWriteStreamUnscheduleFromRunLoop(output, loop, kCFRunLoopCommonModes)
      CFWriteStreamClose(output)
    }
    (input, output) = (nil, nil)
    if let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
      head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
      body = Array(received[end.upperBound...])
    }
  }
}

private func readStreamCalled(
  _ stream: CFReadStream?, _ event: CFStreamEventType, _ info: UnsafeMutableRawPointer?
) {
  Unmanaged<HTTPReader>.fromOpaque(info!).takeUnretainedValue().handle(readEvent: event)
}

private func writeStreamCalled(
  _ stream: CFWriteStream?, _ event: CFStreamEventType, _ info: UnsafeMutableRawPointer?
) {
  Unmanaged<HTTPReader>.fromOpaque(info!).takeUnretainedValue().handle(writeEvent: event)
}
