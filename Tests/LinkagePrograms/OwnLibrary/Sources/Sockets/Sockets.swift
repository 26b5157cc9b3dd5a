// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// CoreFoundation's and Foundation's socket streams used on the loopback: what they say is printed, a line a kind of stream.

import CoreFoundation
import Foundation
import Glibc
import SocketStreams
import SocketStreamsCoreFoundation

/// Prints what comes from a listener, from a bound pair, from a port where nobody listens, and over TLS from a listener that
/// does not speak it. With libFoundation's own functions it crashes instead.
@c(printSocketStreams)
public func printSocketStreams() {
  print("host:", text(ofStreamTo: greetingPort()))
  print("bound:", textThroughBoundPair())
  print("Foundation:", text(ofFoundationStreamTo: greetingPort()))
  print("refused:", errorOfStream(to: refusedPort()))
  print("no TLS:", errorOfSecuredStream(to: greetingPort()))
}

private func makeStream(to port: UInt16) -> CFReadStream {
  var made: Unmanaged<CFReadStream>?
  let host = CFStringCreateWithCString(nil, "127.0.0.1", CFStringBuiltInEncodings.UTF8.rawValue)
  CFStreamCreatePairWithSocketToHost(nil, host, UInt32(port), &made, nil)
  return made!.takeRetainedValue()
}

private func text(ofStreamTo port: UInt16) -> String {
  let stream = makeStream(to: port)
  guard CFReadStreamOpen(stream) else { return "not opened" }
  defer { CFReadStreamClose(stream) }
  return rest(of: stream)
}

private func text(ofFoundationStreamTo port: UInt16) -> String {
  var made: InputStream?
  Stream.getStreamsToHost(withName: "127.0.0.1", port: Int(port), inputStream: &made, outputStream: nil)
  let stream = made!
  var bytes = [UInt8](repeating: 0, count: 5)
  var count = 0
  stream.open()
  while count < bytes.count {
    let read = bytes.withUnsafeMutableBufferPointer { room in
      stream.read(room.baseAddress! + count, maxLength: room.count - count)
    }
    if read <= 0 { return "failed" }
    count += read
  }
  stream.close()
  return String(decoding: bytes, as: UTF8.self)
}

private func textThroughBoundPair() -> String {
  var input: Unmanaged<CFReadStream>?
  var output: Unmanaged<CFWriteStream>?
  CFStreamCreateBoundPair(nil, &input, &output, 64)
  let reading = input!.takeRetainedValue()
  let writing = output!.takeRetainedValue()
  guard CFReadStreamOpen(reading), CFWriteStreamOpen(writing) else { return "not opened" }
  CFWriteStreamWrite(writing, Array("through memory".utf8), 14)
  CFWriteStreamClose(writing)
  return rest(of: reading)
}

/// Waits for the end of the stream.
private func rest(of stream: CFReadStream) -> String {
  var bytes: [UInt8] = []
  var part = [UInt8](repeating: 0, count: 100)
  while true {
    let count = CFReadStreamRead(stream, &part, part.count)
    if count <= 0 { return count == 0 ? String(decoding: bytes, as: UTF8.self) : "failed" }
    bytes += part.prefix(count)
  }
}

private func errorOfStream(to port: UInt16) -> String {
  let stream = makeStream(to: port)
  var part: UInt8 = 0
  guard CFReadStreamOpen(stream), CFReadStreamRead(stream, &part, 1) == -1 else { return "not refused" }
  let error = CFReadStreamGetError(stream)
  return "domain \(error.domain), code \(error.error == ECONNREFUSED ? "ECONNREFUSED" : "\(error.error)")"
}

/// OpenSSL is in the program, and finds that the peer has not got it.
private func errorOfSecuredStream(to port: UInt16) -> String {
  let stream = makeStream(to: port)
  let level = kCFStreamSocketSecurityLevelNegotiatedSSL
  guard CFReadStreamSetProperty(stream, kCFStreamPropertySocketSecurityLevel, level) else {
    return "not taken"
  }
  var part: UInt8 = 0
  guard CFReadStreamOpen(stream), CFReadStreamRead(stream, &part, 1) == -1 else { return "not refused" }
  let error = CFReadStreamGetError(stream)
  return "domain \(error.domain), code \(error.error)"
}

/// A listener on another thread that says hello to who comes.
private func greetingPort() -> UInt16 {
  let base = try! EventBase.startThread()
  let listener = try! Listener(address: SocketAddress(ip: "127.0.0.1", port: 0)!)
  listener.schedule(on: base) { pair, _ in
    pair.schedule(on: base)
    pair.open()
    _ = try? pair.output.write(Array("hello".utf8))
    pair.close()
    _ = listener
  }
  return listener.localAddress.port!
}

/// A port that is taken by a socket which does not listen.
private func refusedPort() -> UInt16 {
  let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  withUnsafeMutablePointer(to: &address) { address in
    address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      precondition(bind(socket, address, length) == 0 && getsockname(socket, address, &length) == 0)
    }
  }
  return UInt16(bigEndian: address.sin_port)
}
