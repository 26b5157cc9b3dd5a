// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How Swift objects travel through C as `void *`. The only file of this folder that says Unmanaged.

/// Turns objects into the context pointers of C callbacks, and back.
enum OpaqueContext {
  /// Lends `object`: C keeps no reference, so whoever owns the C object frees it before `object` goes.
  static func lend<Object: AnyObject>(_ object: Object) -> UnsafeMutableRawPointer {
    unsafe Unmanaged.passUnretained(object).toOpaque()
  }

  /// The object that was lent, held for as long as the caller uses the result.
  static func borrowed<Object: AnyObject>(
    _ context: UnsafeMutableRawPointer?, as type: Object.Type
  ) -> Object {
    // A callback is never registered without its context.
    unsafe Unmanaged<Object>.fromOpaque(context!).takeUnretainedValue()
  }

  /// Calls `body` with the object that was lent, without holding it.
  @inline(__always)
  static func use<Object: AnyObject>(
    _ context: UnsafeMutableRawPointer?, as type: Object.Type, _ body: (Object) -> Void
  ) {
    // A callback is never registered without its context.
    unsafe Unmanaged<Object>.fromOpaque(context.unsafelyUnwrapped)._withUnsafeGuaranteedRef(body)
  }

  /// Gives a reference to C, for a callback that comes exactly once.
  static func give<Object: AnyObject>(_ object: Object) -> UnsafeMutableRawPointer {
    unsafe Unmanaged.passRetained(object).toOpaque()
  }

  /// Takes back the reference that ``give(_:)`` gave away; once for each.
  static func takeBack<Object: AnyObject>(
    _ context: UnsafeMutableRawPointer?, as type: Object.Type
  ) -> Object {
    unsafe Unmanaged<Object>.fromOpaque(context!).takeRetainedValue()
  }
}
