// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The context of a C client, as its owner hands it in.

/// A C client's `info` pointer and the functions that keep it alive.
///
/// The structure is copied by `setClient`; it need not outlive the call. None of the functions is called with a lock of
/// this library held.
///
/// Corresponds to `CFStreamClientContext`.
@unsafe
public struct StreamClientContext {
  /// Must be 0.
  public var version = 0
  /// What callbacks get as their last argument, unless ``retain`` returns another pointer.
  public var info: UnsafeMutableRawPointer?
  /// Called once when the client is set, if `info` is not `NULL`. What it returns becomes the `info` of the callbacks.
  public var retain: (@convention(c) (_ info: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?)?
  /// Called once when the registration ends: by another `setClient`, `removeClient`, `close`, after the terminal
  /// event, or with the stream. Never while a callback of this registration runs.
  public var release: (@convention(c) (_ info: UnsafeMutableRawPointer?) -> Void)?
  /// Returns a `malloc`ed string, which the stream frees. Called for the stream's debug description only.
  public var copyDescription:
    (@convention(c) (_ info: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<CChar>?)?

  /// Makes a context that only hands `info` through.
  public init(info: UnsafeMutableRawPointer? = nil) { unsafe self.info = info }
}
