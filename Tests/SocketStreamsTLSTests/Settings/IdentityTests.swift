// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Identities")
struct IdentityTests {
  private let made = TestCertificates.shared

  private func identity(_ certificate: String, _ key: String?, _ passphrase: String? = nil) throws
    -> TLSIdentity
  {
    try TLSIdentity(
      certificateFile: made.file(certificate), keyFile: key.map(made.file), passphrase: passphrase)
  }

  // J7
  @Test(
    "a key may be PEM or DER, of any form",
    arguments: ["localhost.key", "localhost-traditional.key", "localhost-key.der"])
  func forms(key: String) throws {
    let expected = try [made.x509("localhost")]
    #expect(try identity("localhost.pem", key).certificates == expected)
    #expect(try identity("localhost.der", key).certificates == expected)
    let inMemory = try TLSIdentity(certificates: made.bytes("localhost.pem"), key: made.bytes(key))
    #expect(inMemory.certificates == expected)
  }

  @Test("older forms of DER are read, too")
  func olderForms() throws {
    let elliptic = try shell("openssl ec -in \(made.key("localhost")) -outform DER 2>/dev/null | base64 -w0")
    let rsa = try shell(
      "openssl rsa -traditional -in \(made.key("rsa")) -outform DER 2>/dev/null | base64 -w0")
    for (name, text) in [("localhost", elliptic), ("rsa", rsa)] {
      let folder = TemporaryFolder()
      let encoded = try folder.write(Array(text.utf8), to: "key.txt")
      _ = try shell("base64 -d \(encoded) > \(folder.path)/key.der")
      let identity = try TLSIdentity(
        certificateFile: made.certificate(name), keyFile: "\(folder.path)/key.der")
      #expect(identity.certificates == (try [made.x509(name)]))
    }
  }

  @Test("certificates and key may be in one file, and those that vouch follow the first")
  func oneFile() throws {
    #expect(try identity("localhost-with-key.pem", nil).certificates == [made.x509("localhost")])
    let chain = try identity("by-intermediate-chain.pem", "by-intermediate.key")
    #expect(
      chain.certificates == (try [made.x509("by-intermediate")] + [made.x509("intermediate")]))
    let both = made.bytes("localhost-with-key.pem")
    #expect(try TLSIdentity(certificates: both, key: both).certificates.count == 1)
  }

  @Test(
    "an encrypted key needs its passphrase, and nobody is asked for it",
    arguments: ["localhost-encrypted.key", "localhost-traditional-encrypted.key", "encrypted DER"])
  func encrypted(key: String) throws {
    let folder = TemporaryFolder()
    var path = "\(folder.path)/key.der"
    if key == "encrypted DER" {
      _ = try shell(
        "openssl pkcs8 -topk8 -in \(made.key("localhost")) -passout pass:secret -outform DER -out \(path)")
    } else {
      path = made.file(key)
    }
    func identity(_ passphrase: String?) throws -> TLSIdentity {
      try TLSIdentity(certificateFile: made.certificate("localhost"), keyFile: path, passphrase: passphrase)
    }
    #expect(try identity(TestCertificates.passphrase).certificates == [made.x509("localhost")])
    expectFault("the key is encrypted, and there is no passphrase", operation: "read \(path)") {
      try identity(nil)
    }
    expectFault("the passphrase is wrong") { try identity("guess") }
    expectFault("the passphrase is wrong") { try identity("") }
    expectFault("the passphrase is too long") { try identity(String(repeating: "x", count: 5_000)) }
  }

  @Test("a passphrase for a key that has none is not looked at")
  func needlessPassphrase() throws {
    #expect(try identity("localhost.pem", "localhost.key", "secret").certificates.count == 1)
  }

  @Test("PKCS #12 has certificate and key in one, with a passphrase")
  func pkcs12() throws {
    let identity = try identity("localhost.p12", nil, TestCertificates.passphrase)
    #expect(identity.certificates == (try [made.x509("localhost")] + [made.root()]))
    let bytes = made.bytes("localhost.p12")
    #expect(try TLSIdentity(certificates: bytes, key: bytes, passphrase: "secret") == identity)
    expectFault("the key is encrypted, and there is no passphrase") {
      try self.identity("localhost.p12", nil)
    }
    expectFault("the passphrase is wrong") { try self.identity("localhost.p12", nil, "guess") }
  }

  @Test("PKCS #12 without a key needs one beside it")
  func pkcs12WithoutKey() throws {
    let folder = TemporaryFolder()
    let path = "\(folder.path)/certificates.p12"
    _ = try shell(
      "openssl pkcs12 -export -nokeys -in \(made.certificate("localhost")) -passout pass:secret -out \(path)")
    let identity = try TLSIdentity(
      certificateFile: path, keyFile: made.key("localhost"), passphrase: "secret")
    #expect(identity.certificates == (try [made.x509("localhost")]))
    expectFault("there is no private key in it") {
      try TLSIdentity(certificateFile: path, passphrase: "secret")
    }
  }

  @Test("a key of another certificate is refused, for either kind of key")
  func otherKey() {
    for key in ["a.test.key", "rsa.key"] {
      expectFault("the key does not belong to the first certificate", operation: "read \(made.file(key))") {
        try identity("localhost.pem", key)
      }
    }
    // The leaf has to be the first.
    let swapped = made.bytes("root.pem") + made.bytes("localhost.pem")
    expectFault("the key does not belong to the first certificate", operation: "read a certificate") {
      try TLSIdentity(certificates: swapped, key: made.bytes("localhost.key"))
    }
  }

  @Test("without a key, or with a damaged one, there is no identity")
  func noKey() {
    expectFault("there is no private key in it") { try identity("localhost.pem", nil) }
    expectFault("there is no private key in it") { try identity("localhost.pem", "root.pem") }
    expectFault("there is no certificate in it") { try identity("localhost.key", nil) }
    let key = made.bytes("localhost.key")
    let certificate = made.bytes("localhost.pem")
    let damaged = Array(key.prefix(60)) + Array(key.dropFirst(90))
    expectFault("the key cannot be read") { try TLSIdentity(certificates: certificate, key: damaged) }
    expectFault("there is no private key in it") {
      try TLSIdentity(certificates: certificate, key: [1, 2, 3])
    }
    expectFault("this is empty") { try TLSIdentity(certificates: certificate, key: []) }
    expectFault("this is empty") { try TLSIdentity(certificates: [], key: key) }
  }

  @Test("identities are equal if their certificates are, whatever they were read from")
  func equality() throws {
    let first = try identity("localhost.pem", "localhost.key")
    let second = try identity("localhost.der", "localhost-key.der")
    #expect(first == second)
    #expect(first.hashValue == second.hashValue)
    #expect(try first != identity("a.test.pem", "a.test.key"))
    #expect(
      try identity("by-intermediate-chain.pem", "by-intermediate.key")
        != identity("by-intermediate.pem", "by-intermediate.key"))
  }
}

#endif
