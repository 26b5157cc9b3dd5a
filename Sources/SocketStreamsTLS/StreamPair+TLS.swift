// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Where a pair's owner asks for TLS.

#if TLS

public import SocketStreams

extension StreamPair {
  /// Secures both directions: before the pair is opened, all of its bytes; on an open pair, those from here on
  /// (STARTTLS).
  ///
  /// Bytes that were written before go out first, as they are. The handshake begins by itself as soon as the pair is
  /// connected; `openCompleted` may come before its end, events of bytes come after it. If it fails, both streams do.
  /// On an open pair, call this when the peer has agreed, and once all it said has been read: plain bytes that came
  /// behind that could be anybody's.
  ///
  /// May be called on any thread, and reads files if the system's roots are not known yet. Setting
  /// ``StreamProperty/tlsSettings`` does the same, and says only whether it worked. To ask again for what was asked
  /// for already is no error, and changes nothing.
  ///
  /// - Throws: ``StreamError/TLS/badSettings`` or ``StreamError/TLS/badCertificate`` if the settings cannot be used;
  ///   or a misuse: `unsupported` for pairs in memory, `notOpen` for one that is closed or has failed, `secured` for
  ///   one whose handshake has begun with other settings, `unreadBytes` if bytes have come that were not read, `busy`
  ///   while bytes are being lent.
  public func startTLS(_ settings: TLSSettings) throws(StreamError) { try secure(with: settings) }
}

#endif
