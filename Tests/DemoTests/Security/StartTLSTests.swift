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
  /// What --verbose tells of the lines before a server's first answer, and of those before its last.
  private let begun = ["< 220 ready", "> EHLO me"]
  private var greeted: [String] { begun + ["< 250-mail.test", "< 250-SIZE 1000", "< 250 STARTTLS"] }

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
      ("refuse", "it said '454 TLS not available'", ["> STARTTLS", "< 454 TLS not available"]),
      (
        "inject", "more bytes came in plain behind its reply",
        ["> STARTTLS", "< 220 go", "< 250 INJECTED"]
      ),
      ("vanish", "it ended the connection", []),
    ])
  func refused(_ mode: String, _ reason: String, _ end: [String]) throws {
    let (server, port) = try TLSServers.python(mode)
    defer { server.kill() }
    for command in ["send", "receive", "connect"] {
      let result = run(command, port, mail)
      #expect(result.code == 2 && result.output.isEmpty, "\(command): \(result.errorText)")
      let error =
        "error: TLS -9800 the peer does not speak TLS properly (127.0.0.1:\(port), STARTTLS): \(reason)"
      #expect(result.errorLines == [error])
      let verbose = run(command, port, mail + ["--verbose"]).errorLines
      #expect(verbose == (mode == "vanish" ? begun : greeted + end) + [error, "sockets left: 0"])
    }
  }

  @Test("a server that does not answer is given up after --timeout, with what came of a line")
  func mute() throws {
    let (server, port) = try TLSServers.python("mute")
    defer { server.kill() }
    let result = run("send", port, mail + ["--timeout", "2", "--verbose"])
    #expect(result.code == 6, "\(result.errorText)")
    let error = "error: POSIX 110 Connection timed out (127.0.0.1:\(port), STARTTLS)"
    #expect(result.errorLines == begun + ["< 250-mail", error, "sockets left: 0"])
  }

  @Test("a connection that breaks before both agree does so in STARTTLS")
  func reset() throws {
    let (server, port) = try TLSServers.python("quarrel")
    defer { server.kill() }
    let result = run("receive", port, mail + ["--verbose", "--json"])
    #expect(result.code == 2, "\(result.errorText)")
    let error = "error: POSIX 104 Connection reset by peer (127.0.0.1:\(port), STARTTLS)"
    #expect(result.errorLines == begun + [error, "sockets left: 0"])
    #expect(result.text.contains(#""phase":"STARTTLS""#), "\(result.text)")
  }

  @Test("a signal that ends it leaves what was said")
  func interrupted() throws {
    let (server, port) = try TLSServers.python("mute")
    defer { server.kill() }
    let words = ["receive", "127.0.0.1", port, "--verbose"] + authority + mail
    let process = DemoProcess(words)
    try server.collect { $0.contains("line EHLO me") }
    process.send(signal: SIGINT)
    let result = process.wait()
    #expect(result.status == 130)
    #expect(result.errorLines.starts(with: begun), "\(result.errorText)")
  }

  @Test("a closed port refuses as it does without")
  func closed() {
    let (fd, port) = SocketCalls.refusingPort()
    defer { close(fd) }
    let result = run("send", "\(port)", ["--starttls", "STLS", "--verbose"])
    #expect(result.code == 2, "\(result.errorText)")
    // Nothing was sent, and so nothing is shown as if it had been.
    let error = "error: POSIX 111 Connection refused (127.0.0.1:\(port), connect)"
    #expect(result.errorLines == [error, "sockets left: 0"])
  }
}

#endif
