// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import SocketStreams
import Testing

@Suite("The codes of TLS failures")
struct TLSErrorTextTests {
  // S168
  @Test("the common failures have Secure Transport's numbers, in domain 3")
  func numbers() {
    #expect(StreamError.tls(.chainInvalid, "TLS handshake").code == -9807)
    #expect(StreamError.tls(.wrongHost, "TLS handshake").code == -9843)
    #expect(StreamError.tls(.closedWithoutNotice, "read").code == -9806)
    #expect(StreamError.tls(.wrongHost, "TLS handshake").domain.rawValue == 3)
  }

  @Test("an error says the operation, the reason, the code and what OpenSSL says")
  func description() {
    let error = StreamError.tls(.certificateExpired, "TLS handshake", detail: "certificate has expired")
    #expect(
      "\(error)" == "TLS handshake: the certificate has expired (TLS -9814: certificate has expired)")
    #expect(error.tls == .certificateExpired)
    #expect(StreamError.posix(1, "read").tls == nil)
  }
}
