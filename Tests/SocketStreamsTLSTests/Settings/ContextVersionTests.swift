// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

import COpenSSL
import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Versions and ciphers")
struct ContextVersionTests {
  // J1, J2
  @Test("both sides agree on the newest version")
  func newest() throws {
    let made = try MemoryHandshake(TLSSettings.trusting(), TLSSettings.serving())
    #expect(made.isDone)
    #expect(made.client.version == .tls13)
    #expect(made.server.version == .tls13)
  }

  // J12
  @Test("each side keeps to its range", arguments: [true, false])
  func ranges(isClient: Bool) throws {
    var client = try TLSSettings.trusting()
    var server = try TLSSettings.serving()
    func change(_ body: (inout TLSSettings) -> Void) { if isClient { body(&client) } else { body(&server) } }
    change { $0.maximumVersion = .tls12 }
    #expect(try MemoryHandshake(client, server).server.version == .tls12)
    change {
      $0.minimumVersion = .tls13
      $0.maximumVersion = .tls13
    }
    #expect(try MemoryHandshake(client, server).server.version == .tls13)
  }

  @Test("ranges that do not meet come to nothing")
  func apart() throws {
    var client = try TLSSettings.trusting()
    var server = try TLSSettings.serving()
    client.maximumVersion = .tls12
    server.minimumVersion = .tls13
    let made = try MemoryHandshake(client, server)
    #expect(!made.isDone)
    #expect(made.server.failure == "unsupported protocol")
  }

  @Test("what is older than TLS 1.2 is refused by default, and possible if both sides ask for it")
  func old() throws {
    var client = try TLSSettings.trusting()
    client.minimumVersion = .tls10
    client.maximumVersion = .tls11
    var server = try TLSSettings.serving()
    #expect(try !MemoryHandshake(client, server).isDone)
    server.minimumVersion = .tls11
    let made = try MemoryHandshake(client, server)
    #expect(made.isDone)
    #expect(made.server.version == .tls11)
  }

  // J12
  @Test("ciphers are the named ones, and a server's order decides")
  func ciphers() throws {
    var client = try TLSSettings.trusting()
    client.maximumVersion = .tls12
    var server = try TLSSettings.serving()
    client.ciphers = "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256"
    server.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384"
    #expect(try MemoryHandshake(client, server).client.cipher == "ECDHE-ECDSA-AES128-GCM-SHA256")
    server.ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305"
    #expect(try !MemoryHandshake(client, server).isDone)
  }

  @Test("cipher suites are the named ones, for TLS 1.3 only")
  func suites() throws {
    var client = try TLSSettings.trusting()
    let server = try TLSSettings.serving()
    client.cipherSuites = "TLS_CHACHA20_POLY1305_SHA256"
    #expect(try MemoryHandshake(client, server).client.cipher == "TLS_CHACHA20_POLY1305_SHA256")
    client.maximumVersion = .tls12
    #expect(try MemoryHandshake(client, server).isDone)
  }

  @Test("ciphers without certificates are for those who verify nothing, whatever the list says")
  func anonymous() throws {
    var client = TLSSettings.client()
    client.maximumVersion = .tls12
    client.ciphers = "ALL:@SECLEVEL=0"
    var server = try TLSSettings.serving()
    server.verification = .dangerouslyNone
    server.ciphers = "aNULL:@SECLEVEL=0"
    #expect(try !MemoryHandshake(client, server).isDone)
    client.verification = .dangerouslyNone
    let made = try MemoryHandshake(client, server)
    #expect(made.isDone)
    #expect(made.client.peerChain.isEmpty)
    server.verification = .full
    expectFault("\"aNULL:@SECLEVEL=0\" names none", code: .badSettings) { try SSLContext(server) }
  }

  // J11
  @Test("ciphers that encrypt nothing are for nobody, whatever the list says", arguments: [true, false])
  func plain(isVerified: Bool) throws {
    var client = try TLSSettings.trusting()
    if !isVerified { client.verification = .dangerouslyNone }
    client.ciphers = "NULL-SHA256:eNULL:@SECLEVEL=0"
    expectFault("names none", code: .badSettings) { try SSLContext(client) }
    for list in ["ECDHE:@SECLEVEL=0", "ALL:eNULL:@SECLEVEL=0", "kRSA:COMPLEMENTOFALL"] {
      client.ciphers = list
      let context = try SSLContext(client)
      let ciphers = OpenSSLList.elements(of: SSL_CTX_get_ciphers(context.pointer))
      #expect(!ciphers.isEmpty && ciphers.allSatisfy { SSL_CIPHER_get_bits($0, nil) > 0 })
      withExtendedLifetime(context) {}
    }
    // Only OpenSSL 3.4 and later know it.
    client.cipherSuites = "TLS_SHA256_SHA256"
    expectFault("TLS_SHA256_SHA256", code: .badSettings) { try SSLContext(client) }
  }
}

#endif
