// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Testing

@Suite("The certificates that tests use")
struct TestCertificatesTests {
  @Test("the script makes every file that it says")
  func files() {
    let made = TestCertificates.shared
    let names = [
      "root", "unknown", "intermediate", "localhost", "other.test", "a.test", "b.test", "wildcard", "ip",
      "dns-ip",
      "common-name", "expired", "not-yet-valid", "self-signed", "by-unknown", "by-intermediate", "rsa",
      "client",
      "client-unknown",
    ]
    for name in names {
      #expect(text(made.bytes("\(name).pem")).hasPrefix("-----BEGIN CERTIFICATE-----"))
      #expect(text(made.bytes("\(name).key")).hasPrefix("-----BEGIN PRIVATE KEY-----"))
    }
    #expect(made.bytes("localhost.der").first == 0x30)
    #expect(made.bytes("localhost-key.der").first == 0x30)
    #expect(made.bytes("localhost.p12").first == 0x30)
    #expect(text(made.bytes("localhost-encrypted.key")).hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----"))
    #expect(text(made.bytes("localhost-traditional.key")).hasPrefix("-----BEGIN EC PRIVATE KEY-----"))
    #expect(text(made.bytes("localhost-traditional-encrypted.key")).contains("Proc-Type: 4,ENCRYPTED"))
    #expect(made.bytes("by-intermediate-chain.pem").count > made.bytes("by-intermediate.pem").count)
    #expect(made.bytes("localhost-with-key.pem").count > made.bytes("localhost.pem").count)
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
