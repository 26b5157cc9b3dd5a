// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

internal import COpenSSL

/// OpenSSL's queue of errors, one a thread: filled by calls that fail, and never emptied by calls that do not.
enum ErrorQueue {
  /// Empties it, so that what is in it afterwards belongs to the calls in between.
  static func clear() { ERR_clear_error() }

  /// What the last entry says, in OpenSSL's words; empty if there is none. Empties the queue.
  static func takeReason() -> String {
    let code = ERR_peek_last_error()
    defer { clear() }
    guard code != 0 else { return "" }
    if let text = unsafe ERR_reason_error_string(code) { return unsafe String(cString: text) }
    return "OpenSSL's error \(String(code, radix: 16))"
  }
}

#endif
