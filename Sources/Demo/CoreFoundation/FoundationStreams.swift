// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The streams of Foundation, for `send --foundation` and `receive --foundation`.

import CoreFoundation
import Foundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation

/// Foundation's streams on a thread with a run loop.
enum FoundationStreams: ConnectionFamily {
  static func startThread(named name: String) -> RunLoopThread { RunLoopThread.start(named: name) }

  static func makeConnection(_ target: Target, on loop: RunLoopThread) throws(StreamError)
    -> any ConnectionStreams
  {
    var (input, output): (InputStream?, OutputStream?)
    switch target.place {
    case .host(let host, let port):
      unsafe Stream.getStreamsToHost(
        withName: host, port: Int(port), inputStream: &input, outputStream: &output)
    case .unix:
      // Foundation makes streams to hosts only; others come from CoreFoundation.
      var (reading, writing): (Unmanaged<CFReadStream>?, Unmanaged<CFWriteStream>?)
      unsafe target.makeCFStreams(&reading, &writing)
      input = unsafe (reading?.takeRetainedValue()).map { SocketInputStream($0) }
      output = unsafe (writing?.takeRetainedValue()).map { SocketOutputStream($0) }
    }
    guard let input, let output else { throw .misuse(.badAddress, "connect") }
    let connection = FoundationConnection(input, output, isUnix: target.isUnix)
    connection.setTimeLimit(target.timeout)
    if let security = target.security { try connection.secure(by: security.request) }
    return connection
  }
}

/// An `InputStream` and an `OutputStream`, and their delegate.
private final class FoundationConnection: ConnectionStreams, StreamDelegate {
  private let input: InputStream
  private let output: OutputStream
  private let isUnix: Bool
  private var inputClient: ((StreamEvent) -> Void)?
  private var outputClient: ((StreamEvent) -> Void)?
  private var isSecured = false

  init(_ input: InputStream, _ output: OutputStream, isUnix: Bool) {
    self.input = input
    self.output = output
    self.isUnix = isUnix
    // As the library's own streams do it: the peer sees the end when the write stream is closed.
    _ = output.setProperty(true as NSNumber, forKey: Self.key(kSocketStreamsHalfClose))
  }

  func setTimeLimit(_ limit: Duration) {
    _ = input.setProperty((limit / .seconds(1)) as NSNumber, forKey: Self.key(kSocketStreamsConnectTimeout))
  }

  func secure(by request: SecurityRequest) throws(StreamError) {
    guard input.setProperty(request.dictionary, forKey: Self.key(kCFStreamPropertySSLSettings)) else {
      throw .tls(.badSettings, "connect")
    }
    isSecured = true
  }

  func begin(
    input inputClient: @escaping @Sendable (StreamEvent) -> Void,
    output outputClient: @escaping @Sendable (StreamEvent) -> Void
  ) {
    (self.inputClient, self.outputClient) = (inputClient, outputClient)
    for stream in [input, output] as [Stream] {
      stream.delegate = self
      stream.schedule(in: .current, forMode: .default)
    }
    input.open()
    output.open()
  }

  func stream(_ stream: Stream, handle event: Stream.Event) {
    guard let event = StreamEvent(rawValue: event.rawValue) else { return }
    stream === input ? inputClient?(event) : outputClient?(event)
  }

  func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Int? {
    guard input.hasBytesAvailable else {
      if let inputError { throw inputError }
      return input.streamStatus == .atEnd ? 0 : nil
    }
    let count = unsafe buffer.withUnsafeMutableBytes { memory in
      unsafe memory.baseAddress.map {
        unsafe input.read($0.assumingMemoryBound(to: UInt8.self), maxLength: memory.count)
      } ?? 0
    }
    guard count >= 0 else { throw inputError ?? .misuse(.notOpen, "read") }
    return count
  }

  func write(_ bytes: RawSpan) throws(StreamError) -> Int? {
    guard output.hasSpaceAvailable else {
      if let outputError { throw outputError }
      return nil
    }
    let count = unsafe bytes.withUnsafeBytes { memory in
      unsafe memory.baseAddress.map {
        unsafe output.write($0.assumingMemoryBound(to: UInt8.self), maxLength: memory.count)
      } ?? 0
    }
    guard count >= 0 else { throw outputError ?? .misuse(.notOpen, "write") }
    return count
  }

  func closeOutput() { output.close() }

  func isDelivered() throws(StreamError) -> Bool {
    guard let handle else { return true }
    let isSent = SocketState.outputIsShutDown(handle)
    // Before the count, which does not change any more once the connection is over.
    let isGone = SocketState.isGone(handle)
    // A Unix-domain socket counts what the peer's program has not read: that is not ours to wait for.
    let isAcknowledged = isUnix || StandardStreams.unsentCount(of: handle) == 0
    if let code = SocketState.pendingError(handle) { throw .posix(code, "write") }
    // Asking has the stream find out what the library has found already.
    if !input.hasBytesAvailable, let inputError { throw inputError }
    if isSent, isGone, !isAcknowledged { throw .posix(EPIPE, "write") }
    return isSent && isAcknowledged
  }

  func end(abruptly: Bool) {
    // Foundation has no call for it; without this the library would send what was taken.
    if abruptly, let handle { SocketState.cut(handle) }
    for stream in [input, output] as [Stream] {
      stream.close()
      stream.remove(from: .current, forMode: .default)
      stream.delegate = nil
    }
    (inputClient, outputClient) = (nil, nil)
  }

  var inputError: StreamError? {
    input.streamError.map { StreamError($0 as NSError, during: connected("read")) }
  }
  var outputError: StreamError? {
    output.streamError.map { StreamError($0 as NSError, during: connected("write")) }
  }
  /// Foundation has no property that tells.
  var attempts: [ConnectAttempt] { [] }
  var peer: SocketAddress? { handle.flatMap { SocketAddress(peerOf: $0) } }
  var local: SocketAddress? { handle.flatMap { SocketAddress(localOf: $0) } }

  /// The descriptor, which is there once the connection is.
  private var handle: Int32? {
    input.property(forKey: Self.key(kCFStreamPropertySocketNativeHandle)).flatMap { Int32(handle: $0) }
  }

  private func connected(_ operation: String) -> String {
    if handle == nil { return "connect" }
    return isSecured && peerCertificates == nil ? SecurityProgress.handshake : operation
  }

  var security: String? { SecurityProgress.line(peerCertificates) }
  /// Which are there once both sides agree.
  private var peerCertificates: Any? {
    input.property(forKey: Self.key(kCFStreamPropertySSLPeerCertificates))
  }

  /// Foundation's and CoreFoundation's keys are spelled alike.
  private static func key(_ name: CFString) -> Stream.PropertyKey {
    Stream.PropertyKey(rawValue: String(cf: name))
  }
}

extension StreamError {
  fileprivate init(_ error: NSError, during operation: String) {
    let lookup = error.userInfo[String(cf: kCFGetAddrInfoFailureKey)] as? Int
    switch (error.domain, lookup) {
    case (_, let lookup?): self.init(.resolver, code: Int32(truncatingIfNeeded: lookup), operation: operation)
    case (NSOSStatusErrorDomain, _):
      self.init(.tls, code: Int32(truncatingIfNeeded: error.code), operation: operation)
    case (NSPOSIXErrorDomain, _): self = .posix(Int32(truncatingIfNeeded: error.code), operation)
    default: self.init(.streams, code: Int32(truncatingIfNeeded: error.code), operation: operation)
    }
  }
}
