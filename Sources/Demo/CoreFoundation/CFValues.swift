// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Swift's values to and from CoreFoundation's objects, as far as the streams' properties need them.

import CoreFoundation
import Glibc
import SocketStreams

extension String {
  var cfString: CFString? {
    unsafe withCString { unsafe CFStringCreateWithCString(nil, $0, CFStringBuiltInEncodings.UTF8.rawValue) }
  }
}

extension Duration {
  /// Seconds.
  var cfNumber: CFNumber? {
    var seconds = self / .seconds(1)
    return unsafe CFNumberCreate(nil, .doubleType, &seconds)
  }
}

extension Int32 {
  /// The descriptor in the value of a stream's native handle.
  init?(handle data: CFTypeRef) {
    guard CFGetTypeID(data) == CFDataGetTypeID() else { return nil }
    // Of that type, as just seen. Swift has no checked cast to a type of CoreFoundation's.
    let data = unsafe Unmanaged<CFData>.fromOpaque(Unmanaged.passUnretained(data).toOpaque())
      .takeUnretainedValue()
    self = -1
    guard CFDataGetLength(data) == MemoryLayout<Int32>.size else { return nil }
    unsafe withUnsafeMutableBytes(of: &self) { room in
      unsafe CFDataGetBytes(
        data, CFRange(location: 0, length: room.count), room.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
  }
}

extension SocketAddress {
  /// The address at the other end of a connected socket.
  init?(peerOf fd: Int32) { unsafe self.init(fd, getpeername) }
  /// The address at this end of a connected socket.
  init?(localOf fd: Int32) { unsafe self.init(fd, getsockname) }

  private init?(
    _ fd: Int32, _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) {
    var room = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = unsafe withUnsafeMutablePointer(to: &room) { room in
      unsafe room.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe call(fd, $0, &length) }
    }
    guard result == 0 else { return nil }
    let address = unsafe withUnsafeBytes(of: room) {
      unsafe SocketAddress(native: $0.bytes.extracting(first: Int(length)))
    }
    guard let address else { return nil }
    self = address
  }
}

extension String {
  /// The characters of a string of CoreFoundation's.
  init(cf string: CFString) {
    let length = CFStringGetLength(string)
    self.init(
      decoding: unsafe [UniChar](unsafeUninitializedCapacity: length) { room, count in
        unsafe CFStringGetCharacters(string, CFRange(location: 0, length: length), room.baseAddress)
        count = length
      }, as: UTF16.self)
  }
}
