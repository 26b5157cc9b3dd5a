// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("TLS settings")
struct SettingsTests {
  // J3, J4, J12
  @Test("what is not set is safe")
  func defaults() throws {
    let client = TLSSettings.client()
    #expect(client.role == .client)
    #expect(client.peerName == nil)
    #expect(client.verification == .full)
    #expect(client.roots == .system)
    #expect(client.minimumVersion == .tls12)
    #expect(client.maximumVersion == nil)
    #expect(client.handshakeTimeout == .seconds(60))
    #expect(client.keyLogFile == nil)
    #expect(TLSSettings.client(peerName: "host").peerName == "host")
    let server = try TLSSettings.serving()
    #expect(server.role == .server)
    #expect(server.clientCertificates == .notAsked)
    #expect(server.identity == (try TestCertificates.shared.identity("localhost")))
  }

  @Test("settings are equal if all of them are, and an approval is equal to itself only")
  func equality() throws {
    var first = TLSSettings.client()
    var second = first
    let approval = TLSApproval { _ in true }
    first.approval = approval
    #expect(first != second)
    second.approval = approval
    #expect(first == second && first.hashValue == second.hashValue)
    second.approval = TLSApproval { _ in true }
    #expect(first != second)
    second.approval = approval
    second.roots = .only([])
    #expect(first != second)
    #expect(TLSSettings.Roots.systemAnd([]) == .system)
  }

  @Test("versions are ordered by age")
  func versions() {
    let ordered: [TLSVersion] = [.tls10, .tls11, .tls12, .tls13]
    #expect(ordered.shuffled().sorted() == ordered)
    #expect(ordered.map(\.description) == ["TLS 1.0", "TLS 1.1", "TLS 1.2", "TLS 1.3"])
    #expect("\(TLSVersion(rawValue: 0x0305))" == "TLS version 773")
  }
}

@Suite("TLS settings that cannot be meant")
struct SettingsCheckTests {
  private func expectBad(
    _ detail: String, at location: SourceLocation = #_sourceLocation, _ settings: TLSSettings,
    _ change: (inout TLSSettings) -> Void
  ) {
    var settings = settings
    change(&settings)
    expectFault(detail, code: .badSettings, operation: "TLS settings", at: location) {
      try SSLContextCache(limit: 1).context(for: settings)
    }
  }

  // J12
  @Test("versions that exclude each other, or do not exist")
  func versions() {
    expectBad("the highest version, TLS 1.2, is below the lowest, TLS 1.3", .client()) {
      $0.minimumVersion = .tls13
      $0.maximumVersion = .tls12
    }
    expectBad("there is no TLS version 768", .client()) { $0.minimumVersion = TLSVersion(rawValue: 0x0300) }
    expectBad("there is no TLS version 773", .client()) { $0.maximumVersion = TLSVersion(rawValue: 0x0305) }
  }

  @Test("what belongs to the other role")
  func roles() throws {
    let server = try TLSSettings.serving()
    expectBad("a server has no identity", server) { $0.identity = nil }
    expectBad("does not require certificates", server) {
      $0.pinnedKeys = [[UInt8](repeating: 1, count: 32)]
      $0.clientCertificates = .optional
    }
    let identity = try TestCertificates.shared.identity("localhost")
    expectBad("a client has identities to choose from", .client()) { $0.otherIdentities = [identity] }
    expectBad("a client asks for clients' certificates", .client()) { $0.clientCertificates = .required }
    expectBad("the peer's name is empty", .client()) { $0.peerName = "" }
  }

  // J10
  @Test("verification by nobody, and hashes of another length")
  func trust() throws {
    expectBad("without any root", .client()) { $0.roots = .only([]) }
    let server = try TLSSettings.serving()
    expectBad("without any root", server) {
      $0.roots = .only([])
      $0.clientCertificates = .optional
    }
    expectBad("has not 32 bytes", .client()) { $0.pinnedKeys = [[1, 2, 3]] }
    // Nobody is to be believed, and nobody asked: nothing wrong with that.
    var nobody = TLSSettings.client()
    nobody.roots = .only([])
    nobody.verification = .dangerouslyNone
    _ = try SSLContext(nobody)
    var silent = server
    silent.roots = .only([])
    _ = try SSLContext(silent)
  }

  // J6
  @Test("application protocols that cannot be sent")
  func protocols() {
    for name in ["", String(repeating: "x", count: 256)] {
      expectBad("each has 1 to 255 bytes", .client()) { $0.applicationProtocols = ["h2", name] }
    }
  }

  // J12
  @Test("lists of ciphers that name none, and suites that do not exist: the error names the list")
  func ciphers() {
    expectBad("\"NONSENSE\" names none", .client()) { $0.ciphers = "NONSENSE" }
    expectBad("\"\" names none", .client()) { $0.ciphers = "" }
    expectBad("\"TLS_NONSENSE\" exist", .client()) { $0.cipherSuites = "TLS_NONSENSE" }
    expectBad("\"TLS_AES_128_GCM_SHA256:TLS_NONSENSE\" exist", .client()) {
      $0.cipherSuites = "TLS_AES_128_GCM_SHA256:TLS_NONSENSE"
    }
    // Not a suite of TLS 1.3.
    expectBad("ECDHE-RSA-AES128-GCM-SHA256\" exist", .client()) {
      $0.cipherSuites = "ECDHE-RSA-AES128-GCM-SHA256"
    }
    expectBad("the list of cipher suites is empty", .client()) { $0.cipherSuites = "" }
  }

  @Test("texts that OpenSSL would take for shorter ones")
  func zeroBytes() {
    let changes: [(inout TLSSettings) -> Void] = [
      { $0.ciphers = "HIGH\0" }, { $0.cipherSuites = "TLS_AES_128_GCM_SHA256\0" },
      { $0.keyLogFile = "/tmp/x\0" },
      { $0.peerName = "localhost\0" },
    ]
    for change in changes { expectBad("a zero byte", .client(), change) }
  }

  @Test("an identity that is too weak for the security level")
  func weakIdentity() throws {
    let folder = TemporaryFolder()
    _ = try shell(
      "openssl req -x509 -newkey rsa:1024 -nodes -keyout \(folder.path)/weak.key -subj /CN=weak"
        + " -out \(folder.path)/weak.pem 2>/dev/null")
    let identity = try TLSIdentity(
      certificateFile: "\(folder.path)/weak.pem", keyFile: "\(folder.path)/weak.key")
    var settings = TLSSettings.server(identity)
    // Whatever the system's configuration says.
    settings.ciphers = "DEFAULT@SECLEVEL=2"
    expectFault("the identity cannot be used") { try SSLContext(settings) }
    settings.ciphers = "DEFAULT@SECLEVEL=0"
    _ = try SSLContext(settings)
  }
}

#endif
