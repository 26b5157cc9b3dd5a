// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The keys of what a pair's security is, and what came of it.

#if TLS

public import SocketStreams

extension StreamProperty<TLSSettings> {
  /// How the pair is secured; `nil`, the default, is not at all. The same on both streams. Settable until the
  /// handshake begins, on open pairs too, where it begins at once; `nil` takes it off again until then. Setting what
  /// is set already is no change and always succeeds.
  ///
  /// Corresponds to `kCFStreamPropertySSLSettings`.
  public static var tlsSettings: Self { .init(.securitySettings) }
}

extension StreamProperty<TLSPeer> {
  /// What was agreed upon with the peer; `nil` before the handshake is done. Not settable.
  ///
  /// Corresponds to `kCFStreamPropertySSLPeerCertificates`.
  public static var tlsPeer: Self { .init(.securityPeer) }
}

#endif
