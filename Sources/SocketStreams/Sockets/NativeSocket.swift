// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// A descriptor with an owner.

/// A descriptor that closes when its owner lets go of it.
///
/// Corresponds to `CFSocketNativeHandle` together with `kCFStreamPropertyShouldCloseNativeSocket`.
public struct NativeSocket: ~Copyable, Sendable {
  /// The descriptor's number, for calls that borrow it.
  public let rawValue: Int32

  /// Takes over `fd`: nobody else may close it from now on.
  public init(owning fd: Int32) {
    rawValue = fd
  }

  /// Gives the descriptor away unclosed.
  /// - Returns: Its number; closing it is the caller's duty now.
  public consuming func release() -> Int32 {
    let fd = rawValue
    discard self
    return fd
  }

  deinit {
    SystemCalls.close(rawValue)
  }
}
