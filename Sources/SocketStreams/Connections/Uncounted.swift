// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// References that are not counted. Counting one reference costs as much as all the rest of a small function, and on the
// hot path somebody else holds the object anyway.

/// An object that somebody else keeps for longer than this reference is used.
@safe
struct Uncounted<Object: AnyObject> {
  private let reference: Unmanaged<Object>

  @inline(__always)
  init(_ object: Object) { unsafe reference = Unmanaged.passUnretained(object) }

  /// Whether this is `object`. The object referred to need not be there any more.
  @inline(__always)
  func refers(to object: Object) -> Bool {
    unsafe reference.toOpaque() == Unmanaged.passUnretained(object).toOpaque()
  }

  /// Calls `body` with the object. Whoever calls this sees to it that the object is held until it returns.
  @inline(__always)
  func use<R>(_ body: (Object) -> R) -> R { unsafe reference._withUnsafeGuaranteedRef(body) }
}

/// Two are equal if they refer to the same object, by its place in memory.
extension Uncounted: Hashable {
  static func == (first: Self, second: Self) -> Bool {
    unsafe first.reference.toOpaque() == second.reference.toOpaque()
  }

  func hash(into hasher: inout Hasher) { unsafe hasher.combine(reference.toOpaque()) }
}
