// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

internal import COpenSSL
internal import SocketStreams

/// OpenSSL's `EVP_PKEY`, with the private half.
///
/// `@unchecked Sendable`: the pointer never changes, nobody changes the key, and OpenSSL guards what it caches in it.
@safe
final class PrivateKey: @unchecked Sendable {
  let pointer: OpaquePointer

  /// Takes over a reference.
  init(taking pointer: OpaquePointer) { unsafe self.pointer = pointer }

  deinit { unsafe EVP_PKEY_free(pointer) }

  /// Reads the first key in `bytes`: PEM or DER; PKCS #8, encrypted or not, or what its kind had before.
  convenience init(in bytes: [UInt8], of path: String?, passphrase text: String?) throws(StreamError) {
    ErrorQueue.clear()
    var passphrase = Passphrase(text)
    let isPEM = PEM.isIn(bytes)
    let made = try unsafe PEM.withReader(of: bytes, path: path) { reader in
      unsafe passphrase.lend { context in
        unsafe isPEM
          ? PEM_read_bio_PrivateKey(reader, nil, passphraseTrampoline, context)
          : Self.readDER(reader, bytes, context)
      }
    }
    if let made = unsafe made {
      ErrorQueue.clear()
      unsafe self.init(taking: made)
      return
    }
    let reason = ErrorQueue.takeReason()
    let hasKey = isPEM && String(decoding: bytes, as: UTF8.self).contains("PRIVATE KEY-----")
    throw .badCertificate(
      passphrase.fault ?? (hasKey ? "the key cannot be read: \(reason)" : "there is no private key in it"),
      of: path)
  }

  private static func readDER(
    _ reader: OpaquePointer, _ bytes: [UInt8], _ context: UnsafeMutableRawPointer
  ) -> OpaquePointer? {
    let plain = unsafe bytes.withUnsafeBufferPointer { memory in
      var position = memory.baseAddress
      return unsafe d2i_AutoPrivateKey(nil, &position, memory.count)
    }
    if let plain = unsafe plain { return unsafe plain }
    return unsafe d2i_PKCS8PrivateKey_bio(reader, nil, passphraseTrampoline, context)
  }
}

#endif
