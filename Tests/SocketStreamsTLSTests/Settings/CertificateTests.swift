// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Certificates")
struct CertificateTests {
  private let made = TestCertificates.shared

  @Test("PEM and DER of the same certificate are equal")
  func forms() throws {
    let pem = try TLSCertificate.certificates(inFile: made.certificate("localhost"))
    #expect(pem.count == 1)
    #expect(pem == [try TLSCertificate(der: made.bytes("localhost.der"))])
    #expect(pem == (try TLSCertificate.certificates(inFile: made.file("localhost.der"))))
    #expect(pem[0].der == made.bytes("localhost.der"))
  }

  @Test("PEM has any number of certificates, in its order, among anything else")
  func several() throws {
    let chain = try TLSCertificate.certificates(inFile: made.file("by-intermediate-chain.pem"))
    #expect(chain == (try [made.x509("by-intermediate")] + [made.x509("intermediate")]))
    let text =
      Array("0 a heading\r\n".utf8) + made.bytes("localhost.key") + made.bytes("root.pem")
      + Array("\n-- end".utf8)
    #expect(try TLSCertificate.certificates(in: text) == [made.root()])
  }

  @Test("lines may end as on Windows")
  func carriageReturns() throws {
    let text = made.bytes("root.pem").flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }
    #expect(try TLSCertificate.certificates(in: text) == [made.root()])
  }

  @Test("what is no certificate, and what is damaged, says so")
  func refused() throws {
    let der = made.bytes("localhost.der")
    expectFault("there are bytes behind the certificate") { try TLSCertificate(der: der + [0]) }
    expectFault("this is no certificate") { try TLSCertificate(der: Array(der.dropLast())) }
    expectFault("this is no certificate") { try TLSCertificate(der: []) }
    expectFault("this is no certificate") { try TLSCertificate(der: made.bytes("localhost-key.der")) }
    expectFault("this is no certificate") { try TLSCertificate.certificates(in: Array("garbage".utf8)) }
    expectFault("this is empty") { try TLSCertificate.certificates(in: []) }
    expectFault("there is no certificate in it") {
      try TLSCertificate.certificates(in: made.bytes("localhost.key"))
    }
    let cut = Array(made.bytes("root.pem").prefix(200)) + made.bytes("localhost.pem")
    expectFault("a certificate is damaged") { try TLSCertificate.certificates(in: cut) }
  }

  // J10
  @Test("the key's hash is that of the public key: the same for every certificate of a key")
  func keyHash() throws {
    let hash = try made.x509("localhost").keyHash
    #expect(hash.count == 32)
    #expect(hash == (try TLSCertificate(der: made.bytes("localhost.der")).keyHash))
    #expect(hash != (try made.x509("a.test").keyHash))
    #expect(hash == (try publicKeyHash(of: made.certificate("localhost"))))
  }

  /// What the program openssl says.
  private func publicKeyHash(of path: String) throws -> [UInt8] {
    let command = "openssl x509 -in \(path) -noout -pubkey | openssl pkey -pubin -outform DER | sha256sum"
    let text = try shell(command).prefix(64)
    return stride(from: 0, to: 64, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) }
  }
}

#endif
