// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a listener is, as CoreFoundation describes sockets.

import CoreFoundation
import Glibc
import Testing

/// Calls `body` with the signature of a socket that would connect to `listener`, which ends with the call.
func withSignature(of listener: RawListener, _ body: (CFSocketSignature) -> Void) {
  let data = listener.withNative { native, length in
    native.withMemoryRebound(to: UInt8.self, capacity: Int(length)) {
      CFDataCreate(nil, $0, CFIndex(length))!
    }
  }
  body(
    CFSocketSignature(
      protocolFamily: listener.family, socketType: Int32(SOCK_STREAM.rawValue), protocol: 0,
      address: Unmanaged.passUnretained(data)))
  withExtendedLifetime(data) {}
}

/// A read stream to a listener. On a path no port limits the number of its connections.
func makeReadStream(to listener: RawListener) throws -> CFReadStream {
  var reading: Unmanaged<CFReadStream>?
  withSignature(of: listener) { signature in
    var signature = signature
    CFStreamCreatePairWithPeerSocketSignature(nil, &signature, &reading, nil)
  }
  return try #require(reading).takeRetainedValue()
}
