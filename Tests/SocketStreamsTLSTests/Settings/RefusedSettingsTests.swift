// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Settings that a pair refuses")
struct RefusedSettingsTests {
  private func refused(_ change: (inout TLSSettings) throws -> Void) throws -> TLSSettings {
    var settings = TLSSettings.client()
    try change(&settings)
    return settings
  }

  // J12
  @Test("whoever sets them is told at once, and the pair stays as it is")
  func refused() throws {
    let pair = StreamPair(host: "localhost", port: 1)
    for (detail, settings) in try [
      ("\"NONSENSE\" names none", refused { $0.ciphers = "NONSENSE" }),
      ("the highest version", refused { $0.maximumVersion = .tls11 }),
      ("the key log cannot be written", refused { $0.keyLogFile = "/no/such/folder/keys.log" }),
      ("limit of the handshake", refused { $0.handshakeTimeout = .zero }),
      ("without any root", refused { $0.roots = .only([]) }),
    ] {
      expectFault(detail, code: .badSettings, operation: "TLS settings") { try pair.startTLS(settings) }
      #expect(!pair.input.setProperty(.tlsSettings, to: settings))
      #expect(pair.input.property(.tlsSettings) == nil)
    }
    try pair.startTLS(.client())
    #expect(pair.output.property(.tlsSettings) == .client())
  }
}

#endif
