// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Telling PEM from DER, and reading certificates in either form.

#if TLS

internal import COpenSSL
internal import SocketStreams

/// Bytes for OpenSSL to read certificates and keys from.
enum PEM {
  /// Whether `bytes` have a PEM block in them, whatever stands around it.
  static func isIn(_ bytes: [UInt8]) -> Bool {
    let begin = Array("-----BEGIN ".utf8)
    return bytes.indices.contains { bytes[$0] == begin[0] && bytes[$0...].starts(with: begin) }
  }

  /// Calls `body` with OpenSSL's reader of `bytes`.
  static func withReader<Result>(
    of bytes: [UInt8], path: String?, _ body: (_ reader: OpaquePointer) -> Result
  ) throws(StreamError) -> Result {
    guard !bytes.isEmpty else { throw .badCertificate("this is empty", of: path) }
    guard bytes.count <= FileBytes.limit else {
      throw .badCertificate("this is larger than 16 MiB", of: path)
    }
    return unsafe bytes.withUnsafeBytes { memory in
      guard let reader = unsafe BIO_new_mem_buf(memory.baseAddress, Int32(memory.count)) else {
        fatalError("read a certificate: out of memory")
      }
      defer { unsafe BIO_free(reader) }
      return unsafe body(reader)
    }
  }
}

extension Certificate {
  /// The certificates in `bytes`: at least one.
  static func all(in bytes: [UInt8], of path: String?) throws(StreamError) -> [Certificate] {
    if PEM.isIn(bytes) { return try allOfPEM(bytes, path) }
    guard !bytes.isEmpty else { throw .badCertificate("this is empty", of: path) }
    do throws(StreamError) {
      return [try Certificate(der: bytes)]
    } catch {
      throw .badCertificate(error.detail, of: path)
    }
  }

  private static func allOfPEM(_ bytes: [UInt8], _ path: String?) throws(StreamError) -> [Certificate] {
    OpenSSLLibrary.prepare()
    ErrorQueue.clear()
    let (certificates, fault) = try unsafe PEM.withReader(of: bytes, path: path) { reader in
      var certificates: [Certificate] = []
      // A certificate can be encrypted, too, but never is.
      while let made = unsafe PEM_read_bio_X509(reader, nil, noPassphrase, nil) {
        unsafe certificates.append(Certificate(taking: made))
      }
      let code = ERR_peek_last_error()
      let isEnd = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE
      let reason = ErrorQueue.takeReason()
      return (certificates, isEnd ? nil : reason)
    }
    if let fault { throw .badCertificate("a certificate is damaged: \(fault)", of: path) }
    guard !certificates.isEmpty else { throw .badCertificate("there is no certificate in it", of: path) }
    return certificates
  }
}

#endif
