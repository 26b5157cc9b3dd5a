// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a context asks back during a handshake: the application protocol, the identity for a name, the line for the
// key log. Nothing here calls anybody else's code.

#if TLS

internal import COpenSSL
internal import SocketStreams

extension SSLContext {
  func setCallbacks(_ settings: TLSSettings) throws(StreamError) {
    let protocols =
      settings.applicationProtocols.isEmpty ? nil : ApplicationProtocols(settings.applicationProtocols)
    let keyLog = try settings.keyLogFile.map { path throws(StreamError) in try KeyLog(path) }
    let identities = ([settings.identity].compactMap(\.self) + settings.otherIdentities).map(\.keys)
    let data = ContextData(
      protocols: protocols, identities: identities, keyLog: keyLog,
      checksChain: settings.verification != .dangerouslyNone, pinnedKeys: settings.pinnedKeys)
    unsafe data.give(to: pointer)
    unsafe SSL_CTX_set_cert_verify_callback(pointer, verifyTrampoline, LentPointer.lend(data))
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

/// The peer has shown certificates, which a verification in `store` is prepared for. The context lives, and so does the
/// data.
private func verifyTrampoline(_ store: OpaquePointer?, _ context: UnsafeMutableRawPointer?) -> Int32 {
  guard let data = unsafe LentPointer.use(context, as: ContextData.self, { $0 }) else { return 0 }
  // 3.0.0 takes a negative answer, of a check that failed in itself, for a wish to be asked again.
  if unsafe data.checksChain && X509_verify_cert(store) != 1 { return 0 }
  let chain =
    unsafe data.checksChain ? X509_STORE_CTX_get0_chain(store) : X509_STORE_CTX_get0_untrusted(store)
  if unsafe data.isPinned(chain) { return 1 }
  unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
  return 0
}

/// A client's hello has come. Whatever name it has, or none, the answer is that it is good.
private func serverNameTrampoline(
  _ ssl: OpaquePointer?, _: UnsafeMutablePointer<Int32>?, _: UnsafeMutableRawPointer?
) -> Int32 {
  guard let name = unsafe SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) else {
    return SSL_TLSEXT_ERR_NOACK
  }
  guard let data = unsafe ContextData.of(ssl), data.identities.count > 1,
    let keys = unsafe data.identity(for: String(cString: name))
  else { return SSL_TLSEXT_ERR_OK }
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
  guard let choice = unsafe ContextData.of(ssl)?.protocols?.choice(from: offered) else {
    return SSL_TLSEXT_ERR_ALERT_FATAL
  }
  unsafe answer?.pointee = offer! + choice.lowerBound
  unsafe answerLength?.pointee = UInt8(choice.count)
  return SSL_TLSEXT_ERR_OK
}

/// A key is there to be written down.
private func keyLogTrampoline(_ ssl: OpaquePointer?, _ line: UnsafePointer<CChar>?) {
  guard let line = unsafe line else { return }
  unsafe ContextData.of(ssl)?.keyLog?.append(Array(String(cString: line).utf8))
}

#endif
