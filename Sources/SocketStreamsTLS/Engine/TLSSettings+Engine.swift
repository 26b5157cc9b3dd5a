// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What a pair does with settings.

#if TLS

package import SocketStreams

extension TLSSettings: SecuritySettings {
  package func makeEngine(for target: SecurityTarget) throws(StreamError) -> any SecurityEngine {
    try TLSEngine(self, SSLContext.shared(for: self), target)
  }

  package func isSame(as other: any SecuritySettings) -> Bool { self == other as? TLSSettings }
}

#endif
