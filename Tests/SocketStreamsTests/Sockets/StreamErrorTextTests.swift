// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
import Glibc
import SocketStreams
import Testing

@Suite("What errors say")
struct StreamErrorTextTests {
  // S165, S166
  @Test(
    "an error names its operation, its reason and its code",
    arguments: [
      (.posix(ECONNREFUSED, "connect"), "connect: Connection refused (POSIX 111)"),
      (.posix(ETIMEDOUT, "connect"), "connect: Connection timed out (POSIX 110)"),
      (.posix(99_999, "read"), "read: Unknown error 99999 (POSIX 99999)"),
      (
        StreamError(.resolver, code: EAI_NONAME, operation: "resolve no.such"),
        "resolve no.such: Name or service not known (resolver -2)"
      ),
      (
        StreamError(.resolver, code: -5, operation: "resolve h"),
        "resolve h: No address associated with hostname (resolver -5)"
      ),
      (.misuse(.notOpen, "read"), "read: the stream is not open (streams 1)"),
      (.misuse(.queueFull, "write"), "write: the queue is full (streams 2)"),
      (.misuse(.badAddress, "\"h\" has no port"), "\"h\" has no port: bad address (streams 3)"),
      (.misuse(.unsupported, "fd"), "fd: not supported by this stream (streams 4)"),
      (.misuse(.busy, "read"), "read: the stream is lending bytes (streams 5)"),
      (StreamError(.streams, code: 77, operation: "read"), "read: unknown failure (streams 77)"),
      (StreamError(.tls, code: 1, operation: "handshake"), "handshake: TLS failure (TLS 1)"),
      (StreamError(.http, code: 2, operation: "get"), "get: HTTP failure (HTTP 2)"),
      (StreamError(.init(rawValue: 8), code: 3, operation: "x"), "x: unknown failure (domain 8 3)"),
    ] as [(StreamError, String)])
  func descriptions(error: StreamError, text: String) {
    #expect(error.description == text)
    #expect("\(error)" == text)
  }

  // A10, report 61
  @Test("the addresses that were tried are listed, each with its reason")
  func attempts() throws {
    let addresses = ["127.0.0.2", "::1"].map { SocketAddress(ip: $0, port: 80)! }
    let error = StreamError(
      .posix, code: ENETUNREACH, operation: "connect",
      attempts: [
        ConnectAttempt(address: addresses[0], code: ECONNREFUSED),
        ConnectAttempt(address: addresses[1], code: ENETUNREACH),
      ])
    #expect(
      error.description == "connect: Network is unreachable (POSIX 101); "
        + "tried 127.0.0.2:80 (Connection refused), [::1]:80 (Network is unreachable)")
    #expect(error.reason == "Network is unreachable")
  }
}
