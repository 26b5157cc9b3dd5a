// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Socket addresses to and from the kernel's `sockaddr`. All of the unsafe code about addresses is here.

internal import Glibc

extension SocketAddress {
  /// Reads the bytes of a `sockaddr_in`, `sockaddr_in6` or `sockaddr_un`, as in a `CFSocketSignature`'s address.
  ///
  /// - Returns: `nil` if the family is none of these, or if there are too few bytes for it.
  public init?(native bytes: RawSpan) {
    let address = unsafe bytes.withUnsafeBytes { bytes in
      unsafe bytes.baseAddress.flatMap { unsafe SocketAddress(native: $0, length: bytes.count) }
    }
    guard let address else { return nil }
    self = address
  }

  /// The bytes of the `sockaddr_in`, `sockaddr_in6` or `sockaddr_un`.
  public var nativeBytes: [UInt8] {
    unsafe withNative { native, length in
      unsafe Array(UnsafeRawBufferPointer(start: native, count: Int(length)))
    }
  }

  /// Lends the address as a `sockaddr` for the time of the call.
  func withNative<R>(_ body: (_ native: UnsafePointer<sockaddr>, _ length: socklen_t) -> R) -> R {
    switch storage {
    case .ipv4(let address, let port):
      var native = sockaddr_in()
      native.sin_family = sa_family_t(AF_INET)
      native.sin_port = port.bigEndian
      native.sin_addr.s_addr = address.bigEndian
      return unsafe lend(&native, MemoryLayout<sockaddr_in>.size, body)
    case .ipv6(let high, let low, let port, let scope):
      var native = sockaddr_in6()
      native.sin6_family = sa_family_t(AF_INET6)
      native.sin6_port = port.bigEndian
      native.sin6_scope_id = scope
      native.sin6_addr = in6_addr(high: high, low: low)
      return unsafe lend(&native, MemoryLayout<sockaddr_in6>.size, body)
    case .unix(let path):
      var native = sockaddr_un()
      native.sun_family = sa_family_t(AF_UNIX)
      let kept = unsafe withUnsafeMutableBytes(of: &native.sun_path) { room in
        unsafe room.copyBytes(from: path.prefix(room.count))
        return path.prefix(room.count).count
      }
      // A closing zero follows a path, unless the kernel gave one that fills the structure. An unnamed or abstract name
      // has none: its length tells where it ends.
      let closing = path.first == nil || path.first == 0 ? 0 : 1
      let length = min(Self.pathOffset + kept + closing, MemoryLayout<sockaddr_un>.size)
      return unsafe lend(&native, length, body)
    }
  }

  /// Runs `call` with room for any address and sets `address` to what it wrote, if that is of a known family.
  static func filled(
    _ address: inout SocketAddress,
    _ call: (_ memory: UnsafeMutableRawPointer, _ length: UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> Int32 {
    var room = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return unsafe withUnsafeMutableBytes(of: &room) { memory in
      let outcome = unsafe call(memory.baseAddress.unsafelyUnwrapped, &length)
      if outcome >= 0,
        let read = unsafe SocketAddress(
          native: UnsafeRawPointer(memory.baseAddress.unsafelyUnwrapped),
          length: min(Int(length), memory.count))
      {
        address = read
      }
      return outcome
    }
  }

  /// Reads a `sockaddr` of `length` bytes, which need not be aligned.
  init?(native: UnsafeRawPointer, length: Int) {
    guard length >= MemoryLayout<sa_family_t>.size else { return nil }
    switch Int32(unsafe native.loadUnaligned(as: sa_family_t.self)) {
    case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
      let read = unsafe native.loadUnaligned(as: sockaddr_in.self)
      self.init(.ipv4(UInt32(bigEndian: read.sin_addr.s_addr), port: UInt16(bigEndian: read.sin_port)))
    case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
      let read = unsafe native.loadUnaligned(as: sockaddr_in6.self)
      let (high, low) = read.sin6_addr.halves
      self.init(
        .ipv6(high: high, low: low, port: UInt16(bigEndian: read.sin6_port), scope: read.sin6_scope_id))
    case AF_UNIX:
      let count = min(length, MemoryLayout<sockaddr_un>.size) - Self.pathOffset
      var path = unsafe Array(UnsafeRawBufferPointer(start: native + Self.pathOffset, count: count))
      // A path ends at its first zero; an abstract name starts with one and ends where the length says.
      if path.first != 0, let end = path.firstIndex(of: 0) { path.removeSubrange(end...) }
      if path.allSatisfy({ $0 == 0 }) { path = [] }
      self.init(.unix(path))
    default:
      return nil
    }
  }

  /// The IPv4 address that an IPv6 socket shows as `::ffff:a.b.c.d`; any other address as it is.
  var unmapped: SocketAddress {
    guard case .ipv6(0, let low, let port, _) = storage, low >> 32 == 0xFFFF else { return self }
    return SocketAddress(.ipv4(UInt32(truncatingIfNeeded: low), port: port))
  }

  /// Whether this is `::`, which stands for all addresses of the machine.
  var isIPv6Wildcard: Bool {
    if case .ipv6(0, 0, _, _) = storage { true } else { false }
  }

  private static let pathOffset = MemoryLayout<sa_family_t>.size

  private func lend<T, R>(
    _ native: inout T, _ length: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
  ) -> R {
    // Every sockaddr_… starts like a sockaddr, which is how C passes them.
    unsafe withUnsafePointer(to: &native) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, socklen_t(length)) }
    }
  }
}

extension SocketAddress.Family {
  /// `AF_INET`, `AF_INET6` or `AF_UNIX`.
  var nativeValue: Int32 {
    switch self {
    case .ipv4: AF_INET
    case .ipv6: AF_INET6
    case .unix: AF_UNIX
    }
  }
}

extension in6_addr {
  /// Two big-endian halves make the sixteen bytes.
  init(high: UInt64, low: UInt64) {
    self.init()
    unsafe withUnsafeMutableBytes(of: &self) { bytes in
      unsafe bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
      unsafe bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
  }

  /// The sixteen bytes as two big-endian halves.
  var halves: (high: UInt64, low: UInt64) {
    unsafe withUnsafeBytes(of: self) { bytes in
      (
        UInt64(bigEndian: unsafe bytes.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
  }
}
