// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// --starttls, with a server that begins as a mail server does.

#if TLS

import Glibc
import Testing

// J13
@Suite("STARTTLS", .timeLimit(.minutes(4)))
struct StartTLSTests {
  private let authority = ["--ca", TestCertificates.shared.certificate("root")]
  private let mail = ["--starttls", "", "--starttls", "EHLO me", "--starttls", "STARTTLS"]

  private func run(_ command: String, _ port: String, _ more: [String]) -> DemoResult {
    DemoProcess([command, "127.0.0.1", port] + authority + more).wait()
  }

  @Test(
    "lines in plain, and then bytes over TLS, with events as if nothing had been before",
    arguments: ["direct", "bufferevent"])
  func works(_ transport: String) throws {
    let (server, port) = try TLSServers.python("starttls")
    defer { server.kill() }
    let result = run(
      "send", port,
      mail + ["--text", "secret", "--receive", "--verbose", "--events", "--transport", transport])
    #expect(result.code == 0 && result.text == "secret\n", "\(result.errorText)")
    try server.collect { $0.contains("line EHLO me\nline STARTTLS\nsni None\nsecured version=TLSv1.3") }
    let told = result.errorLines
    for line in ["< 220 ready", "> EHLO me", "< 250 STARTTLS", "> STARTTLS", "< 220 go"] {
      #expect(told.contains(line), "\(line): \(result.errorText)")
    }
    #expect(told.count { $0 == "read openCompleted" } == 1, "\(result.errorText)")
    #expect(told.count { $0 == "write openCompleted" } == 1, "\(result.errorText)")
    #expect(told.contains { $0.hasPrefix("TLS 1.3, ") }, "\(result.errorText)")
  }

  @Test("the certificate is checked as it is without")
  func checked() throws {
    let (server, port) = try TLSServers.python("starttls", "expired")
    defer { server.kill() }
    let result = run("receive", port, mail)
    #expect(result.code == 2, "\(result.errorText)")
    #expect(result.errorText.contains("TLS -9814 the certificate has expired"), "\(result.errorText)")
  }

  @Test(
    "what a server does instead of agreeing is no connection, and the sentence says what",
    arguments: [
      ("refuse", "it said '454 TLS not available'"), ("inject", "more bytes came in plain behind its reply"),
      ("vanish", "it ended the connection"),
    ])
  func refused(_ mode: String, _ reason: String) throws {
    let (server, port) = try TLSServers.python(mode)
    defer { server.kill() }
    for command in ["send", "receive", "connect"] {
      let result = run(command, port, mail)
      #expect(result.code == 2 && result.output.isEmpty, "\(command): \(result.errorText)")
      #expect(
        result.errorLines.last
          == "error: TLS -9800 the peer does not speak TLS properly (127.0.0.1:\(port), STARTTLS): \(reason)")
    }
  }

  @Test("a server that does not answer is given up after --timeout")
  func mute() throws {
    let (server, port) = try TLSServers.python("mute")
    defer { server.kill() }
    let result = run("send", port, mail + ["--timeout", "0.5"])
    #expect(result.code == 6, "\(result.errorText)")
  }

  @Test("a closed port refuses as it does without")
  func closed() {
    let (fd, port) = SocketCalls.refusingPort()
    defer { close(fd) }
    let result = run("send", "\(port)", mail)
    #expect(result.code == 2, "\(result.errorText)")
    #expect(
      result.errorLines.last == "error: POSIX 111 Connection refused (127.0.0.1:\(port), connect)",
      "\(result.errorText)")
  }
}

#endif
