// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The streams of CoreFoundation, for `cfread --corefoundation`.

import CoreFoundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation

/// CoreFoundation's streams on a thread with a run loop.
enum CFStreams: InputFamily {
  static func startThread(named name: String) -> RunLoopThread { RunLoopThread.start(named: name) }

  static func makeInput(_ target: Target, on loop: RunLoopThread) throws(StreamError) -> any InputHalf {
    var made: Unmanaged<CFReadStream>?
    unsafe target.makeCFStreams(&made, nil)
    guard let stream = unsafe made?.takeRetainedValue() else { throw .misuse(.badAddress, "connect") }
    CFReadStreamSetProperty(stream, kSocketStreamsConnectTimeout, target.timeout.cfNumber)
    if let security = target.security {
      let settings = security.request.dictionary
      guard CFReadStreamSetProperty(stream, kCFStreamPropertySSLSettings, settings) else {
        throw .tls(.badSettings, "connect")
      }
    }
    return CFInput(stream, loop, isSecured: target.security != nil)
  }
}

extension Target {
  /// The streams of CoreFoundation that are wanted, not yet opened; the other one is declined.
  func makeCFStreams(
    _ reading: UnsafeMutablePointer<Unmanaged<CFReadStream>?>?,
    _ writing: UnsafeMutablePointer<Unmanaged<CFWriteStream>?>?
  ) {
    switch place {
    case .host(let host, let port):
      unsafe CFStreamCreatePairWithSocketToHost(nil, host.cfString, UInt32(port), reading, writing)
    case .unix(let address):
      let bytes = address.nativeBytes
      guard let data = unsafe CFDataCreate(nil, bytes, bytes.count) else { return }
      // The address is copied by the call.
      withExtendedLifetime(data) {
        var signature = unsafe CFSocketSignature(
          protocolFamily: AF_UNIX, socketType: Int32(SOCK_STREAM.rawValue), protocol: 0,
          address: .passUnretained(data))
        unsafe CFStreamCreatePairWithPeerSocketSignature(nil, &signature, reading, writing)
      }
    }
  }
}

/// A `CFReadStream`.
///
/// `@unchecked Sendable`: the stream is used on the loop's thread only, but for its close, which the streams of this package
/// allow on any.
final class CFInput: InputHalf, @unchecked Sendable {
  private let stream: CFReadStream
  private let loop: RunLoopThread
  private let isSecured: Bool

  fileprivate init(_ stream: CFReadStream, _ loop: RunLoopThread, isSecured: Bool) {
    self.stream = stream
    self.loop = loop
    self.isSecured = isSecured
  }

  func setClient(_ events: StreamEvents, _ client: ClientInfo, hasCallback: Bool) -> Bool {
    var context = unsafe client.cfContext
    return unsafe CFReadStreamSetClient(stream, events.rawValue, hasCallback ? Self.callback : nil, &context)
  }

  private static let callback: CFReadStreamClientCallBack = { _, event, info in
    unsafe ClientInfo.tell(info, event.rawValue)
  }

  func removeClient() { CFReadStreamSetClient(stream, 0, nil, nil) }
  func schedule() { CFReadStreamScheduleWithRunLoop(stream, loop.runLoop, kCFRunLoopDefaultMode) }
  func unschedule() { CFReadStreamUnscheduleFromRunLoop(stream, loop.runLoop, kCFRunLoopDefaultMode) }
  func open() -> Bool { CFReadStreamOpen(stream) }

  func close() {
    // CoreFoundation keeps the client of a closed stream.
    removeClient()
    CFReadStreamClose(stream)
  }

  var status: StreamStatus { StreamStatus(rawValue: CFReadStreamGetStatus(stream).rawValue) ?? .error }
  var hasBytesAvailable: Bool { CFReadStreamHasBytesAvailable(stream) }
  /// CoreFoundation has no property that tells.
  var attempts: [ConnectAttempt] { [] }
  var peer: SocketAddress? { handle.flatMap { SocketAddress(peerOf: $0) } }

  /// The descriptor, which is there once the connection is.
  private var handle: Int32? {
    CFReadStreamCopyProperty(stream, kCFStreamPropertySocketNativeHandle).flatMap { .init(handle: $0) }
  }

  var error: StreamError? {
    guard status == .error else { return nil }
    let numbers = CFReadStreamGetError(stream)
    return StreamError(
      StreamError.Domain(rawValue: numbers.domain), code: numbers.error,
      operation: handle == nil ? "connect" : isAgreeing ? SecurityProgress.handshake : "read")
  }

  var security: String? { SecurityProgress.line(peerCertificates) }
  private var isAgreeing: Bool { isSecured && peerCertificates == nil }
  /// Which are there once both sides agree.
  private var peerCertificates: CFTypeRef? {
    CFReadStreamCopyProperty(stream, kCFStreamPropertySSLPeerCertificates)
  }

  /// Waits if nothing is there, as CFReadStream does.
  func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Int? {
    let count = unsafe buffer.withUnsafeMutableBytes { memory in
      unsafe CFReadStreamRead(
        stream, memory.baseAddress?.assumingMemoryBound(to: UInt8.self), memory.count)
    }
    guard count >= 0 else { throw error ?? .misuse(.notOpen, "read") }
    return count
  }

  func readWaiting(into buffer: inout MutableRawSpan, timeout: Duration) throws(StreamError) -> Int? {
    CFReadStreamSetProperty(stream, kSocketStreamsReadTimeout, timeout.cfNumber)
    do {
      return try read(into: &buffer)
    } catch {
      // What expired before the connection was there is a failure to connect.
      guard error == .posix(ETIMEDOUT, "read") else { throw error }
      return nil
    }
  }
}

extension ClientInfo {
  /// The context that hands this object to a callback of CoreFoundation's. Setting the client retains it through `retain`,
  /// and so does CoreFoundation around its calls.
  @unsafe fileprivate var cfContext: CFStreamClientContext {
    let own = unsafe context
    var context = unsafe CFStreamClientContext()
    unsafe context.info = own.info
    unsafe context.retain = own.retain
    unsafe context.release = own.release
    return unsafe context
  }
}
