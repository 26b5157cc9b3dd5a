// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The file that a Unix listener leaves at its path: what may be there before, and what is removed afterwards.

internal import Glibc

/// The socket file of a listener, so that only that file is removed again.
struct UnixPath: Equatable, Sendable {
  private let path: [UInt8]
  private let device: UInt
  private let node: UInt

  /// The socket that is at `address` now; `nil` for other addresses, and where no socket is.
  init?(_ address: SocketAddress) {
    guard case .unix(let path) = address.storage, let first = path.first, first != 0 else { return nil }
    var status = stat()
    // Neither array is empty, so both have an address.
    guard
      unsafe (path + [0]).withUnsafeBufferPointer({ bytes in
        unsafe bytes.withMemoryRebound(to: CChar.self) { unsafe lstat($0.baseAddress!, &status) }
      }) == 0, status.st_mode & S_IFMT == S_IFSOCK
    else { return nil }
    self.path = path
    device = UInt(status.st_dev)
    node = UInt(status.st_ino)
  }

  /// Removes the file, if it is still the same socket.
  func remove() {
    guard UnixPath(SocketAddress(.unix(path))) == self else { return }
    unsafe (path + [0]).withUnsafeBufferPointer { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { _ = unsafe unlink($0.baseAddress!) }
    }
  }

  /// Listens on `address`. A socket at the path that nobody listens on any more gives way; nothing else does.
  static func listen(
    on address: SocketAddress, backlog: Int32, reusesPort: Bool, acceptsIPv4: Bool
  ) throws(StreamError) -> NativeSocket {
    do throws(StreamError) {
      return try SystemCalls.makeListener(
        on: address, backlog: backlog, reusesPort: reusesPort, acceptsIPv4: acceptsIPv4)
    } catch {
      guard error.code == EADDRINUSE, let stale = UnixPath(address) else { throw error }
      let probe = try SystemCalls.makeSocket(family: .unix)
      guard SystemCalls.connect(probe.rawValue, address) == ECONNREFUSED else { throw error }
      stale.remove()
      return try SystemCalls.makeListener(on: address, backlog: backlog)
    }
  }
}

extension SystemCalls {
  /// Whether a failed accept says something about the one connection that was waiting, so that the next can be tried.
  static func isAboutOneConnection(_ code: Int32) -> Bool {
    switch code {
    case ECONNABORTED, EPROTO, EPERM, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, ENETUNREACH:
      true
    default: false
    }
  }
}
