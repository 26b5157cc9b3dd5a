// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What CoreFoundation's creation functions do, which stand in Exports.c: they call these. Both results are NULL before.

import CoreFoundation
import Glibc
import SocketStreams

private typealias StreamPlace = UnsafeMutablePointer<UnsafeRawPointer?>

/// Puts the streams of `pair` where they are wanted; a half that is not is declined.
private func give(
  _ pair: StreamPair, _ allocator: UnsafeRawPointer?, _ reading: StreamPlace?, _ writing: StreamPlace?,
  closesHalf: Bool = false, refusal: StreamError? = nil
) {
  let allocator = unsafe allocator.map { unsafe Unmanaged<CFAllocator>.fromOpaque($0).takeUnretainedValue() }
  let socket = SharedSocket(hasReader: unsafe reading != nil, closesHalf: closesHalf)
  if let reading = unsafe reading {
    let adapter = ReadStreamAdapter(pair.input, socket: socket, refusal: refusal)
    if let stream = unsafe ReadStreamAdapter.makeStream(adapter, allocator) {
      unsafe reading.pointee = UnsafeRawPointer(stream.toOpaque())
      socket.made(adapter)
    }
  }
  if let writing = unsafe writing {
    let adapter = WriteStreamAdapter(pair.output, socket: socket, refusal: refusal)
    if let stream = unsafe WriteStreamAdapter.makeStream(adapter, allocator) {
      unsafe writing.pointee = UnsafeRawPointer(stream.toOpaque())
      socket.made(adapter)
    }
  }
}

@c(SocketStreamsCreatePairToHost)
func createPairToHost(
  _ allocator: UnsafeRawPointer?, _ host: UnsafeRawPointer, _ port: UInt32,
  _ reading: UnsafeMutablePointer<UnsafeRawPointer?>?, _ writing: UnsafeMutablePointer<UnsafeRawPointer?>?
) {
  let host = String(unsafe Unmanaged<CFString>.fromOpaque(host).takeUnretainedValue())
  guard !host.isEmpty, let port = UInt16(exactly: port) else { return }
  unsafe give(StreamPair(host: host, port: port), allocator, reading, writing)
}

@c(SocketStreamsCreatePairWithSocket)
func createPairWithSocket(
  _ allocator: UnsafeRawPointer?, _ socket: Int32,
  _ reading: UnsafeMutablePointer<UnsafeRawPointer?>?, _ writing: UnsafeMutablePointer<UnsafeRawPointer?>?
) {
  unsafe give(StreamPair(nativeSocket: socket), allocator, reading, writing)
}

@c(SocketStreamsCreatePairToAddress)
func createPairToAddress(
  _ allocator: UnsafeRawPointer?, _ type: Int32, _ protocolNumber: Int32, _ address: UnsafeRawPointer,
  _ reading: UnsafeMutablePointer<UnsafeRawPointer?>?, _ writing: UnsafeMutablePointer<UnsafeRawPointer?>?
) {
  let data = unsafe Unmanaged<CFData>.fromOpaque(address).takeUnretainedValue()
  let bytes = unsafe UnsafeRawBufferPointer(start: CFDataGetBytePtr(data), count: CFDataGetLength(data))
  guard let address = unsafe SocketAddress(native: bytes.bytes) else { return }
  unsafe give(
    StreamPair(address: address), allocator, reading, writing,
    refusal: StreamError.refusal(ofType: type, protocolNumber: protocolNumber))
}

@c(SocketStreamsCreateBoundPair)
func createBoundPair(
  _ allocator: UnsafeRawPointer?,
  _ reading: UnsafeMutablePointer<UnsafeRawPointer?>?, _ writing: UnsafeMutablePointer<UnsafeRawPointer?>?,
  _ size: Int
) {
  // The reader has no other way to hear of the end.
  unsafe give(size > 0 ? .bound(bufferSize: size) : .bound(), allocator, reading, writing, closesHalf: true)
}

extension StreamError {
  /// Why no stream can be made of a socket signature: it is of another type than a stream's, or of another protocol.
  fileprivate static func refusal(ofType type: Int32, protocolNumber: Int32) -> StreamError? {
    if type != Int32(SOCK_STREAM.rawValue) { return .posix(EPROTOTYPE, "open") }
    return protocolNumber == 0 || protocolNumber == Int32(IPPROTO_TCP) ? nil : .posix(EPROTONOSUPPORT, "open")
  }
}
