// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a context asks back during a handshake: the application protocol, the identity for a name, the line for the key log.
// Nothing here calls anybody else's code.

#if TLS

internal import COpenSSL
internal import SocketStreams

extension SSLContext {
  func setCallbacks(_ settings: TLSSettings) throws(StreamError) {
    let protocols =
      settings.applicationProtocols.isEmpty ? nil : ApplicationProtocols(settings.applicationProtocols)
    let keyLog = try settings.keyLogFile.map { path throws(StreamError) in try KeyLog(path) }
    let identities = ([settings.identity].compactMap(\.self) + settings.otherIdentities).map(\.keys)
    unsafe ContextData(protocols: protocols, identities: identities, keyLog: keyLog).give(to: pointer)
    if keyLog != nil { unsafe SSL_CTX_set_keylog_callback(pointer, keyLogTrampoline) }
    switch settings.role {
    case .client:
      guard let list = protocols?.wire else { return }
      // Alone among these functions, it returns 0 when all is well.
      guard unsafe SSL_CTX_set_alpn_protos(pointer, list, UInt32(list.count)) == 0 else {
        throw .badSettings("the application protocols cannot be sent: \(ErrorQueue.takeReason())")
      }
    case .server:
      unsafe ss_ctx_set_servername_callback(pointer, serverNameTrampoline, nil)
      if protocols != nil { unsafe SSL_CTX_set_alpn_select_cb(pointer, protocolTrampoline, nil) }
    }
  }
}

/// A client's hello has come. Whatever name it has, or none, the answer is that it is good.
private func serverNameTrampoline(
  _ ssl: OpaquePointer?, _: UnsafeMutablePointer<Int32>?, _: UnsafeMutableRawPointer?
) -> Int32 {
  guard let name = unsafe SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) else {
    return SSL_TLSEXT_ERR_NOACK
  }
  let keys = unsafe ContextData.use(of: ssl) { data in
    unsafe data.identities.count > 1 ? data.identity(for: String(cString: name)) : nil
  }
  guard let keys = keys ?? nil else { return SSL_TLSEXT_ERR_OK }
  // Of one identity at a time: a key of another kind would stay beside the new one.
  unsafe SSL_certs_clear(ssl)
  let code = unsafe SSL_use_cert_and_key(ssl, keys.leaf.pointer, keys.key.pointer, keys.chain, 1)
  return code == 1 ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL
}

/// A client offers application protocols. The answer points into the offer, as OpenSSL allows.
private func protocolTrampoline(
  _ ssl: OpaquePointer?, _ answer: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
  _ answerLength: UnsafeMutablePointer<UInt8>?, _ offer: UnsafePointer<UInt8>?, _ offerLength: UInt32,
  _: UnsafeMutableRawPointer?
) -> Int32 {
  let offered = unsafe [UInt8](UnsafeBufferPointer(start: offer, count: Int(offerLength)))
  let choice = unsafe ContextData.use(of: ssl) { $0.protocols?.choice(from: offered) }
  guard let choice = choice ?? nil else { return SSL_TLSEXT_ERR_ALERT_FATAL }
  unsafe answer?.pointee = offer! + choice.lowerBound
  unsafe answerLength?.pointee = UInt8(choice.count)
  return SSL_TLSEXT_ERR_OK
}

/// A key is there to be written down.
private func keyLogTrampoline(_ ssl: OpaquePointer?, _ line: UnsafePointer<CChar>?) {
  guard let line = unsafe line else { return }
  let bytes = unsafe Array(String(cString: line).utf8)
  _ = unsafe ContextData.use(of: ssl) { $0.keyLog?.append(bytes) }
}

#endif
