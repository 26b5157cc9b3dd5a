// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// How the commands end when TLS does not come about, or breaks: a sentence that names the reason, and the exit code.

#if TLS

import Glibc
import Testing

@Suite("Failures over TLS", .timeLimit(.minutes(4)))
struct TLSFailureTests {
  private let made = TestCertificates.shared

  private func receive(_ port: String, _ more: [String]) -> DemoResult {
    DemoProcess(["receive", "127.0.0.1", port] + more).wait()
  }

  /// The line that tells the error, without what OpenSSL says about it.
  private func error(_ result: DemoResult) -> String {
    let line = result.errorLines.first { $0.hasPrefix("error: ") } ?? "no error: \(result.errorText)"
    return line.range(of: "): ").map { String(line[..<$0.lowerBound]) + ")" } ?? line
  }

  // Field report 55; J3, J4
  @Test(
    "a certificate that does not do is no connection, and the sentence says why",
    arguments: [
      ("expired", "TLS -9814 the certificate has expired"),
      ("not-yet-valid", "TLS -9815 the certificate is not valid yet"),
      ("other.test", "TLS -9843 the certificate is for another host"),
      ("dns-ip", "TLS -9843 the certificate is for another host"),
      ("common-name", "TLS -9843 the certificate is for another host"),
      ("by-unknown", "TLS -9813 the issuer of the certificate is not known"),
      ("by-intermediate", "TLS -9813 the issuer of the certificate is not known"),
      ("self-signed", "TLS -9812 the certificate is of an authority that is not trusted"),
    ])
  func certificates(_ name: String, _ sentence: String) throws {
    let (server, port) = try TLSServers.python("hello", name)
    defer { server.kill() }
    let result = receive(port, trusted)
    #expect(result.code == 2 && result.output.isEmpty, "\(result.errorText)")
    #expect(error(result) == "error: \(sentence) (127.0.0.1:\(port), TLS handshake)")
  }

  static let commands = ["send", "receive", "connect", "cfread", "chat", "http10"]

  /// A command with something to say, whatever it is.
  private func run(_ command: String, _ port: String, _ more: [String]) -> DemoResult {
    let place = command == "cfread" ? ["127.0.0.1:\(port)"] : ["127.0.0.1", port]
    let own = command == "chat" ? ["--name", "Ann"] : []
    let process = DemoProcess([command] + place + own + more, keepsInput: true)
    defer { process.closeInput() }
    return process.wait()
  }

  @Test("no command goes on with a server that is not trusted, or that has no TLS", arguments: commands)
  func everyCommand(_ command: String) throws {
    let (server, port) = try TLSServers.python("echo", "by-unknown")
    defer { server.kill() }
    let untrusted = run(command, port, trusted)
    #expect(untrusted.code == 2 && untrusted.output.isEmpty, "\(untrusted.errorText)")
    #expect(
      error(untrusted)
        == "error: TLS -9813 the issuer of the certificate is not known (127.0.0.1:\(port), TLS handshake)")
    let plain = LoopbackServer(.says(Array("220 I have no TLS, and never had\r\n".utf8)))
    defer { plain.stop() }
    let result = run(command, "\(plain.port)", trusted)
    #expect(result.code == 2 && result.output.isEmpty, "\(result.errorText)")
    #expect(
      error(result)
        == "error: TLS -9800 the peer does not speak TLS properly (127.0.0.1:\(plain.port), TLS handshake)")
  }

  @Test("the summary of a program has the reason too")
  func json() throws {
    let (server, port) = try TLSServers.python("hello", "expired")
    defer { server.kill() }
    let result = receive(port, trusted + ["--json"])
    #expect(result.code == 2)
    let expected =
      #""error":{"domain":"TLS","code":-9814,"reason":"the certificate has expired","phase":"TLS handshake""#
    #expect(result.text.contains(#""status":2,"#) && result.text.contains(expected), "\(result.text)")
  }

  // J12: by default nothing below 1.2
  @Test("a server of TLS 1.1 only has no version in common")
  func version() throws {
    let (server, port) = try TLSServers.openssl("-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0")
    defer { server.kill() }
    let result = receive(port, trusted)
    #expect(result.code == 2, "\(result.errorText)")
    #expect(error(result).contains("TLS handshake"), "\(result.errorText)")
  }

  @Test("no protocol in common is no connection")
  func alpn() throws {
    let (server, port) = try TLSServers.openssl("-alpn", "h2")
    defer { server.kill() }
    let result = receive(port, trusted + ["--alpn", "imap"])
    #expect(result.code == 2, "\(result.errorText)")
    #expect(error(result).hasSuffix("(127.0.0.1:\(port), TLS handshake)"), "\(result.errorText)")
  }

  // J8
  @Test("a server that requires a certificate lets nobody in without one, or with a stranger's")
  func clientCertificate() throws {
    let (server, port) = try TLSServers.python("hello", clients: "root")
    defer { server.kill() }
    // The refusal may come together with a reset, and which is seen first is a matter of chance.
    for _ in 1...5 {
      let without = receive(port, trusted)
      #expect(without.code == 2 && without.output.isEmpty, "\(without.errorText)")
      #expect(
        error(without) == "error: TLS -9863 a certificate is required (127.0.0.1:\(port), TLS handshake)")
    }
    let identity = ["--cert", made.certificate("client-unknown"), "--key", made.key("client-unknown")]
    let stranger = receive(port, trusted + identity)
    #expect(stranger.code == 2 && stranger.output.isEmpty, "\(stranger.errorText)")
    #expect(stranger.errorText.contains("TLS handshake"), "\(stranger.errorText)")
  }

  // G11
  @Test("a connection that is cut keeps what came, and is an error that says so")
  func cut() throws {
    let (server, port) = try TLSServers.python("cut", "localhost", "--text", "partial\n")
    defer { server.kill() }
    let result = receive(port, trusted)
    #expect(result.code == 3 && result.text == "receive: partial\n", "\(result.errorText)")
    #expect(
      error(result)
        == "error: TLS -9806 the connection was cut without the end of TLS (127.0.0.1:\(port), read)")
  }

  @Test("a file that was not taken whole when the connection is cut was not sent")
  func cutWhileSending() throws {
    let (server, port) = try TLSServers.python("cut", "localhost", "--text", "partial\n")
    defer { server.kill() }
    let folder = TemporaryFolder()
    try TextFile.write([UInt8](repeating: 0, count: 20_000_000), to: folder.file("f"))
    let result = DemoProcess(["send", "127.0.0.1", port, "--file", folder.file("f")] + trusted).wait()
    #expect(result.code == 3, "\(result.errorText)")
  }

  // Field report 53; H5
  @Test("a server that never answers is given up after --timeout", arguments: commands)
  func silent(_ command: String) throws {
    let (server, port) = try TLSServers.python("silent")
    defer { server.kill() }
    let result = run(command, port, trusted + ["--timeout", "0.5"])
    #expect(result.code == 6, "\(result.errorText)")
    if command == "send" || command == "connect" {
      #expect(error(result) == "error: POSIX 110 Connection timed out (127.0.0.1:\(port), TLS handshake)")
    }
    #expect(result.elapsed > .milliseconds(400) && result.elapsed < .seconds(20))
  }

  @Test("a file that cannot be read, or is no certificate, is told before anything is sent")
  func files() {
    let root = made.certificate("root")
    let cases: [(words: [String], start: String, path: String)] = [
      (["--ca", "/no/such"], "error: POSIX 2 No such file or directory", "/no/such"),
      (["--ca", made.key("root")], "error: TLS -9808 ", made.key("root")),
      (["--cert", "/no/such", "--key", root], "error: POSIX 2 ", "/no/such"),
      (["--cert", root, "--key", "/no/key"], "error: POSIX 2 ", "/no/key"),
      (["--cert", root, "--key", made.key("client")], "error: TLS -9808 ", made.key("client")),
      (["--cert", root], "error: TLS -9808 ", root),
      (
        ["--cert", made.certificate("localhost"), "--key", made.file("localhost-encrypted.key")],
        "error: TLS -9808 ", made.file("localhost-encrypted.key")
      ),
    ]
    for (words, start, path) in cases {
      let result = receive("1", ["--tls"] + words)
      #expect(result.code == 7 && result.output.isEmpty, "\(words): \(result.errorText)")
      let line = result.errorLines.last ?? ""
      #expect(line.hasPrefix(start) && line.contains("(127.0.0.1:1, read): \(path)"), "\(result.errorText)")
    }
    let server = DemoProcess(["chatd", "--tls-cert", "/no/such"]).wait()
    #expect(server.code == 7 && server.output.isEmpty, "\(server.errorText)")
  }

  @Test("wrong arguments end with 64 and connect to nobody")
  func usage() {
    let result = receive("1", ["--insecure"])
    #expect(result.code == 64)
    #expect(result.errorLines.first == "Error: --insecure has a use with --tls only", "\(result.errorText)")
  }

  @Test(
    "what is wrong with a command line, or with a file, is told alone, and nothing is warned of",
    arguments: [
      ["send", "h", "1", "--text", "a", "--file", "b"], ["receive", "h", "1", "--json", "--output", "-"],
      ["connect", "h", "1", "--ca", "x"], ["cfread", "h:1", "--poll", "--block"], ["chat", "h", "1"],
      ["http10", "h", "1", "--key", "x"], ["connect", "h", "1", "--cert", "/no/such"],
      ["send", "h", "1", "--file", "/no/such"],
    ])
  func alone(_ words: [String]) {
    let result = DemoProcess(words + ["--tls", "--insecure"]).wait()
    #expect(result.code == (words.last == "/no/such" ? 7 : 64), "\(result.errorText)")
    #expect(result.errorLines.first?.lowercased().hasPrefix("error: ") == true, "\(result.errorText)")
    #expect(!result.errorText.contains("warning"), "\(result.errorText)")
  }

  @Test("--insecure is warned of by each command, once and first", arguments: commands)
  func warned(_ command: String) {
    let (fd, port) = SocketCalls.refusingPort()
    defer { close(fd) }
    let result = run(command, "\(port)", ["--tls", "--insecure"])
    #expect(result.code == 2, "\(result.errorText)")
    let warning = "warning: nothing is checked (--insecure): anybody can be at the other end"
    #expect(result.errorLines.first == warning, "\(result.errorText)")
    #expect(result.errorLines.count { $0.hasPrefix("warning") } == 1, "\(result.errorText)")
  }
}

#endif
