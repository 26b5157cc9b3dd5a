// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

internal import COpenSSL

/// What OpenSSL is told when it needs a passphrase. It is never left to ask a terminal, as it does by itself.
struct Passphrase {
  private let bytes: [UInt8]?
  /// Whether OpenSSL needed one.
  private(set) var wasAsked = false
  /// Whether there is one that OpenSSL has no room for.
  private(set) var isTooLong = false

  init(_ text: String?) { bytes = text.map { Array($0.utf8) } }

  /// Why a key could not be read, if a passphrase has to do with it.
  var fault: String? {
    guard wasAsked else { return nil }
    if bytes == nil { return "the key is encrypted, and there is no passphrase" }
    return isTooLong
      ? "the passphrase is too long" : "the passphrase is wrong, or the encrypted key is damaged"
  }

  /// Calls `body` with the context that ``passphraseTrampoline(_:_:_:_:)`` takes.
  mutating func lend<Result>(_ body: (_ context: UnsafeMutableRawPointer) -> Result) -> Result {
    unsafe withUnsafeMutablePointer(to: &self) { unsafe body(UnsafeMutableRawPointer($0)) }
  }

  /// Writes it into OpenSSL's buffer: how long it is, or -1 for none.
  fileprivate mutating func answer(_ buffer: UnsafeMutableBufferPointer<CChar>) -> Int32 {
    wasAsked = true
    guard let bytes else { return -1 }
    isTooLong = bytes.count > buffer.count
    if isTooLong { return -1 }
    unsafe UnsafeMutableRawBufferPointer(buffer).copyBytes(from: bytes)
    return Int32(bytes.count)
  }
}

/// OpenSSL needs a passphrase for what has none.
func noPassphrase(
  _: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32, _: UnsafeMutableRawPointer?
) -> Int32 { -1 }

/// OpenSSL needs a passphrase.
func passphraseTrampoline(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _: Int32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  // Lent by `lend` for the time of the call.
  unsafe context!.assumingMemoryBound(to: Passphrase.self).pointee
    .answer(UnsafeMutableBufferPointer(start: buffer, count: Int(size)))
}

#endif
