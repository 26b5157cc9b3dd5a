// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

import COpenSSL
import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Pinned keys")
struct PinningTests {
  private func hash(_ name: String) throws -> [UInt8] { try TestCertificates.shared.x509(name).keyHash }

  /// Connects to a server with a chain of two below the root.
  private func handshake(
    pinned: [String], _ verification: TLSSettings.Verification = .full
  ) throws -> MemoryHandshake {
    let certificates = TestCertificates.shared
    var client = try TLSSettings.trusting()
    client.pinnedKeys = Set(try pinned.map(hash))
    client.verification = verification
    let server = try TLSIdentity(
      certificateFile: certificates.file("by-intermediate-chain.pem"),
      keyFile: certificates.key("by-intermediate"))
    return try MemoryHandshake(client, .server(server))
  }

  // J10
  @Test("any key of the verified chain is enough", arguments: ["by-intermediate", "intermediate", "root"])
  func anyOfChain(name: String) throws {
    #expect(try handshake(pinned: [name]).isDone)
    #expect(try handshake(pinned: ["unknown", name]).isDone)
  }

  // J10
  @Test("without one of them there is no connection, and the peer is told")
  func refused() throws {
    let made = try handshake(pinned: ["unknown", "localhost"])
    #expect(!made.isDone && !made.client.isDone)
    #expect(made.client.verifyResult == X509_V_ERR_APPLICATION_VERIFICATION)
    #expect(made.server.failure?.contains("alert") == true)
  }

  @Test("pins come besides verification, not instead of it")
  func besides() throws {
    var client = try TLSSettings.trusting()
    client.pinnedKeys = [try hash("other.test")]
    let made = try MemoryHandshake(client, TLSSettings.serving("other.test"))
    #expect(made.client.verifyResult == X509_V_ERR_HOSTNAME_MISMATCH)
  }

  // J11
  @Test("without verification the chain is what was shown")
  func unverified() throws {
    #expect(try handshake(pinned: ["by-intermediate"], .dangerouslyNone).isDone)
    #expect(try handshake(pinned: ["intermediate"], .dangerouslyNone).isDone)
    // Not shown.
    #expect(try !handshake(pinned: ["root"], .dangerouslyNone).isDone)
    var client = TLSSettings.client()
    client.verification = .dangerouslyNone
    client.pinnedKeys = [try hash("self-signed")]
    #expect(try MemoryHandshake(client, TLSSettings.serving("self-signed")).isDone)
    #expect(try !MemoryHandshake(client, TLSSettings.serving("localhost")).isDone)
  }

  // J10
  @Test("ciphers without certificates, of which none could be pinned, are never used with pins")
  func anonymous() throws {
    var client = TLSSettings.client()
    client.verification = .dangerouslyNone
    client.pinnedKeys = [try hash("localhost")]
    client.maximumVersion = .tls12
    client.ciphers = "aNULL:@SECLEVEL=0"
    expectFault("names none", code: .badSettings) { try SSLContext(client) }
    client.ciphers = "ALL:@SECLEVEL=0"
    var server = try TLSSettings.serving()
    server.verification = .dangerouslyNone
    server.ciphers = "aNULL:@SECLEVEL=0"
    #expect(try !MemoryHandshake(client, server).isDone)
  }

  // J8
  @Test("a server may pin its clients' keys")
  func clients() throws {
    var client = try TLSSettings.trusting()
    client.identity = try TestCertificates.shared.identity("client")
    var server = try TLSSettings.serving()
    server.roots = .only(try [TestCertificates.shared.root()])
    server.clientCertificates = .required
    server.pinnedKeys = [try hash("client")]
    #expect(try MemoryHandshake(client, server).isDone)
    server.pinnedKeys = [try hash("localhost")]
    #expect(try !MemoryHandshake(client, server).isDone)
  }
}

#endif
