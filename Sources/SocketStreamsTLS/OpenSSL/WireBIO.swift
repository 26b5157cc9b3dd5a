// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The BIO through which OpenSSL reads and writes secured bytes: no descriptor, but the wire of a connection.

#if TLS

internal import COpenSSL
internal import SocketStreams

/// Makes BIOs that ask an ``SSLConnection``.
enum WireBIO {
  /// - Returns: A BIO whose one reference is the caller's. It is to be freed before `connection` goes.
  static func make(for connection: SSLConnection) -> OpaquePointer? {
    guard let bio = unsafe BIO_new(method.pointer) else { return nil }
    unsafe BIO_set_data(bio, LentPointer.lend(connection))
    return unsafe bio
  }

  /// What all of them do. Never freed.
  private static let method = Method()

  /// `@unchecked Sendable`: nothing changes it once it is made.
  @safe
  private struct Method: @unchecked Sendable {
    let pointer: OpaquePointer

    init() {
      let kind = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK
      guard let made = unsafe BIO_meth_new(kind, "SocketStreams wire") else {
        fatalError("make a method of BIOs: out of memory")
      }
      unsafe pointer = made
      unsafe BIO_meth_set_read_ex(made, readTrampoline)
      unsafe BIO_meth_set_write_ex(made, writeTrampoline)
      unsafe BIO_meth_set_ctrl(made, controlTrampoline)
    }
  }
}

private let readTrampoline:
  @convention(c) (
    OpaquePointer?, UnsafeMutablePointer<CChar>?, Int, UnsafeMutablePointer<Int>?
  ) -> Int32 = { bio, memory, count, moved in
    unsafe BIO_clear_flags(bio, retryFlags)
    // OpenSSL's own read buffer, which nobody else touches during the call.
    let buffer = unsafe UnsafeMutableRawBufferPointer(start: memory, count: count)
    let result = unsafe LentPointer.use(BIO_get_data(bio), as: SSLConnection.self) { connection in
      var span = unsafe buffer.mutableBytes
      return connection.receiveSecured(into: &span)
    }
    switch result {
    case .bytes(let count):
      unsafe moved?.pointee = count
      return 1
    case .wouldBlock: unsafe BIO_set_flags(bio, retryFlags)
    case .end, .failed, nil: break
    }
    return 0
  }

private let writeTrampoline:
  @convention(c) (
    OpaquePointer?, UnsafePointer<CChar>?, Int, UnsafeMutablePointer<Int>?
  ) -> Int32 = { bio, memory, count, moved in
    let bytes = unsafe UnsafeRawBufferPointer(start: memory, count: count)
    unsafe LentPointer.use(BIO_get_data(bio), as: SSLConnection.self) { unsafe $0.sendSecured(bytes.bytes) }
    unsafe moved?.pointee = count
    return 1
  }

private let controlTrampoline:
  @convention(c) (
    OpaquePointer?, Int32, Int, UnsafeMutableRawPointer?
  ) -> Int = { bio, command, _, _ in
    switch command {
    case BIO_CTRL_FLUSH: 1
    case BIO_CTRL_EOF:
      unsafe LentPointer.use(BIO_get_data(bio), as: SSLConnection.self) { $0.hasWireEnded ? 1 : 0 } ?? 1
    default: 0
    }
  }

/// That a read would succeed later: what `BIO_set_retry_read` sets.
private let retryFlags = BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY

#endif
