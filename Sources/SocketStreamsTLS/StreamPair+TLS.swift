// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a pair's owner asks for TLS, and for its end.

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

  /// Takes TLS off both directions, and leaves the connection open, as after FTP's CCC. Any thread may call it, also on a
  /// client's call.
  ///
  /// What was written before goes out secured, and then TLS's own end, `close_notify`. From the call on, writes are answered
  /// `nil`, until the peer's `close_notify` has come; buffers that are moved in wait. What the peer sends before it is
  /// read as ever, and has to be, since its `close_notify` is behind it. What is behind that is read as it is: nothing is lost,
  /// whatever came with it. Then `StreamEvent.canAcceptBytes` is told, `StreamProperty.tlsPeer` is `nil`, reads and writes
  /// go straight to the transport, and ``startTLS(_:)`` may secure the pair anew.
  ///
  /// From then on anybody on the way can read and change everything, and the read stream does not mark where the plain bytes
  /// begin.
  ///
  /// Both sides have to want this: a peer that takes `close_notify` for the end, as most do, closes the connection. The
  /// other way round it is the same: if the peer is first, and its `close_notify` is met before this is called, the read
  /// stream has ended. So call this before the peer can know, or on the client's call that reads the peer's agreement.
  ///
  /// A peer that does not answer fails both streams with `ETIMEDOUT` and the operation `"stop TLS"`, when nothing has moved
  /// for `StreamProperty.lingerTimeout` as it was at the call; one that ends the connection instead, with
  /// `StreamError.TLS.closedWithoutNotice`. Closing and aborting work meanwhile as ever. Calling this again before it is done
  /// changes nothing.
  /// - Throws: `StreamError.Misuse.notSecured` without TLS, and before the handshake is done; `StreamError.Misuse.notOpen`
  ///   unless both streams are open.
  public func stopTLS() throws(StreamError) { try stopSecuring() }
}

#endif
