// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How the elements of kCFStreamSSLCertificates become a chain and a key.

import Testing

@testable import SocketStreamsCoreFoundation

// S195
@Suite("The certificates of TLS settings")
struct IdentityPartsTests {
  private let certificate = Array("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n".utf8)
  private let issuer = Array("-----BEGIN TRUSTED CERTIFICATE-----\nAQ==\n-----END CERTIFICATE-----".utf8)
  private let key = Array("-----BEGIN EC PRIVATE KEY-----\r\nAg==\r\n-----END EC PRIVATE KEY-----".utf8)
  /// Only as much of DER as tells one thing from another: certificate, PKCS #8, PKCS #12.
  private let certificateDER: [UInt8] = [0x30, 0x04, 0x30, 0x02, 0xA0, 0x00]
  private let keyDER: [UInt8] = [0x30, 0x82, 0x00, 0x03, 0x02, 0x01, 0x00]
  private let store: [UInt8] = [0x30, 0x81, 0x05, 0x02, 0x01, 0x03, 0x30, 0x00]

  @Test("a certificate and its key may be in one PEM, with or without issuers after it")
  func onePEM() {
    let both = certificate + key
    #expect(IdentityParts([both])?.key == both)
    #expect(IdentityParts([both])?.certificates == both + [10])
    #expect(IdentityParts([both, issuer])?.certificates == both + [10] + issuer + [10])
    #expect(IdentityParts([both + [10] + issuer])?.key == both + [10] + issuer)
  }

  @Test("the key may be an element of its own, wherever it is, PEM or DER")
  func ownKey() {
    for key in [key, keyDER] {
      for elements in [[certificate, key, issuer], [certificate, issuer, key], [key, certificate, issuer]] {
        let parts = IdentityParts(elements)
        #expect(parts?.key == key)
        #expect(parts?.certificates == certificate + [10] + issuer + [10])
      }
    }
  }

  @Test("a certificate that is DER becomes PEM, in its place")
  func derCertificate() {
    let pem = Array("-----BEGIN CERTIFICATE-----\nMAQwAqAA\n-----END CERTIFICATE-----\n".utf8)
    #expect(IdentityParts([certificateDER, keyDER])?.certificates == pem)
    #expect(
      IdentityParts([certificate, certificateDER, key])?.certificates == certificate + [10] + pem)
  }

  @Test(
    "base64 is right at each length and at the end of a line",
    arguments: [
      (4, "MAQwAA=="), (5, "MAQwAAE="), (6, "MAQwAAEC"),
      (49, "MAQwAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKiss\nLQ=="),
    ])
  func base64(length: Int, text: String) {
    let der = [0x30, 0x04, 0x30] + (0..<length - 3).map { UInt8($0) }
    let parts = IdentityParts([der, key])
    let pem = "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
    #expect(parts.map { String(decoding: $0.certificates, as: UTF8.self) } == pem)
  }

  @Test("PKCS #12 has both, and is alone")
  func pkcs12() {
    #expect(IdentityParts([store])?.certificates == store)
    #expect(IdentityParts([store])?.key == store)
    #expect(IdentityParts([store, issuer]) == nil)
    #expect(IdentityParts([certificate, key, store]) == nil)
  }

  @Test("without a certificate, without a key or with two there is no identity")
  func incomplete() {
    #expect(IdentityParts([]) == nil)
    #expect(IdentityParts([certificate, issuer]) == nil)
    #expect(IdentityParts([certificateDER]) == nil)
    #expect(IdentityParts([key]) == nil)
    #expect(IdentityParts([certificate, key, keyDER]) == nil)
    #expect(IdentityParts([certificate + key + [10] + key]) == nil)
  }

  @Test(
    "what is neither PEM nor DER refuses all",
    arguments: [
      [], Array("certificate".utf8), [0x30], [0x30, 0x00], [0x30, 0x01, 0x04], [0x30, 0x84, 0x30],
      [0x30, 0xFF, 0x02, 1, 0], [0x31, 0x02, 0x30, 0x00], Array("-----BEGIN PUBLIC KEY-----\n".utf8),
      Array("text -----BEGIN CERTIFICATE-----\n".utf8),
    ])
  func nothing(element: [UInt8]) {
    #expect(IdentityParts([certificate + key, element]) == nil)
  }
}
