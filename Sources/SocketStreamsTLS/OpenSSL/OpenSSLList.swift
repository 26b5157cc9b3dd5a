// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

internal import COpenSSL

/// OpenSSL's `STACK_OF(…)`, whose own functions are macros.
enum OpenSSLList {
  /// The elements, which stay the list's; none of a list that is not there.
  @unsafe
  static func elements(of list: OpaquePointer?) -> [OpaquePointer] {
    unsafe (0..<max(0, OPENSSL_sk_num(list))).compactMap { unsafe OpaquePointer(OPENSSL_sk_value(list, $0)) }
  }
}

#endif
