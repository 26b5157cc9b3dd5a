// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How Swift objects travel through OpenSSL as `void *`. The only file of this module that says Unmanaged.

#if TLS

/// Turns objects into the context pointers of C callbacks, and back.
enum LentPointer {
  /// Lends `object`: C keeps no reference, so whoever owns the C object frees it before `object` goes.
  static func lend<Object: AnyObject>(_ object: Object) -> UnsafeMutableRawPointer {
    unsafe Unmanaged.passUnretained(object).toOpaque()
  }

  /// Calls `body` with the object that was lent, without holding it: its owner does, as long as OpenSSL is in a call.
  @inline(__always)
  static func use<Object: AnyObject, R>(
    _ context: UnsafeMutableRawPointer?, as type: Object.Type, _ body: (Object) -> R
  ) -> R? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<Object>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
  }

  /// Gives C a reference, for ``takeBack(_:as:)`` to end.
  static func give<Object: AnyObject>(_ object: Object) -> UnsafeMutableRawPointer {
    unsafe Unmanaged.passRetained(object).toOpaque()
  }

  /// Ends the reference that ``give(_:)`` gave; once for each.
  static func takeBack<Object: AnyObject>(_ context: UnsafeMutableRawPointer?, as type: Object.Type) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<Object>.fromOpaque(context).release()
  }
}

#endif
