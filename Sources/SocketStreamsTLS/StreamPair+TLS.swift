// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a pair's owner asks for TLS.

#if TLS

public import SocketStreams

extension StreamPair {
  /// Secures both directions with TLS: as soon as the pair is connected if it is not open yet, and otherwise from the next
  /// byte on, as after a protocol's STARTTLS. Any thread may call it, also on a client's call.
  ///
  /// The pair opens when it is connected. Until the handshake is done writes are answered `nil` and nothing can be read; then
  /// `StreamEvent.canAcceptBytes` is told, and `StreamProperty.tlsPeer` has what was agreed upon. A handshake that fails
  /// is the failure of both streams. What was written before is sent before the handshake, as it is.
  ///
  /// On an open pair, call this when the peer has agreed and all that it said has been read. The settings are put to use at
  /// once, which reads the system's roots if they are not known yet. Setting `StreamProperty.tlsSettings` does the same,
  /// and tells only whether it worked.
  ///
  /// Who is the client of TLS need not be who connected: a pair made for a host takes settings for a server, and an accepted
  /// one those for a client, which then have to name the peer.
  ///
  /// Securing a pair again in the same way changes nothing.
  /// - Throws: `StreamError.TLS.badSettings` and its like if the settings cannot be used;
  ///   `StreamError.Misuse.unreadBytes` if plain bytes were taken in and not used, by a loan or by a reader of frames, which may
  ///   be an attack (those that nobody took make the handshake fail);
  ///   `StreamError.Misuse.secured` if the pair is being secured in another way; `StreamError.Misuse.busy` while bytes are
  ///   lent; `StreamError.Misuse.notOpen` after a close or a failure, and on an open pair whose write stream is closed or
  ///   whose read stream is at its end, since a handshake needs both directions; `StreamError.Misuse.unsupported` for
  ///   pairs in memory.
  ///
  /// Corresponds to setting `kCFStreamPropertySSLSettings`.
  public func startTLS(_ settings: TLSSettings) throws(StreamError) { try secure(with: settings) }
}

#endif
