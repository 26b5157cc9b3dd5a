// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// --tls with the streams of CoreFoundation and Foundation. They trust the system's authorities, whose file the environment
// names.

#if TLS

import Testing

@Suite("CoreFoundation's and Foundation's streams over TLS", .timeLimit(.minutes(4)))
struct TLSFamilyTests {
  static let commands = ["receive --foundation", "cfread --corefoundation"]

  private let made = TestCertificates.shared

  private func run(_ command: String, _ port: String, _ more: String..., trusting root: String? = "root")
    -> DemoResult
  {
    var words = command.split(separator: " ").map(String.init)
    words.insert(
      contentsOf: command.hasPrefix("cfread") ? ["127.0.0.1:\(port)"] : ["127.0.0.1", port], at: 1)
    let environment = root.map { ["SSL_CERT_FILE": made.certificate($0)] } ?? [:]
    return DemoProcess(words + ["--tls"] + more, environment: environment).wait()
  }

  // S189
  @Test("they read over TLS, and --verbose tells that they do", arguments: commands)
  func reads(_ command: String) throws {
    let (server, port) = try TLSServers.python("hello")
    defer { server.kill() }
    let result = run(command, port, "--verbose")
    #expect(result.code == 0 && result.text.contains("Hello over TLS 你好\n"), "\(result.errorText)")
    #expect(result.errorLines.contains("TLS, 1 certificate"), "\(result.errorText)")
  }

  @Test("an OutputStream's bytes go over TLS whole")
  func writes() throws {
    let (server, port) = try TLSServers.python("answer")
    defer { server.kill() }
    let result = run("send --foundation", port, "--text", "from an OutputStream")
    #expect(result.code == 0, "\(result.errorText)")
    try server.collect { $0.contains("end notice b'from an OutputStream'") }
  }

  // S168
  @Test("a certificate that does not do is no connection, with the same sentence", arguments: commands)
  func refuses(_ command: String) throws {
    let (server, port) = try TLSServers.python("hello", "expired")
    defer { server.kill() }
    let expired = run(command, port)
    #expect(expired.code == 2, "\(expired.errorText)")
    #expect(
      expired.errorLines.last
        == "error: TLS -9814 the certificate has expired (127.0.0.1:\(port), TLS handshake)")
    let unknown = run(command, port, trusting: nil)
    #expect(unknown.code == 2 && unknown.output.isEmpty, "\(unknown.errorText)")
    #expect(unknown.errorText.contains("TLS -9813 "), "\(unknown.errorText)")
  }

  // S192, S193
  @Test("--tls-name and --insecure are their properties", arguments: commands)
  func names(_ command: String) throws {
    let (server, port) = try TLSServers.python("hello", "other.test")
    defer { server.kill() }
    let other = run(command, port)
    #expect(other.code == 2 && other.errorText.contains("TLS -9843 "), "\(other.errorText)")
    let named = run(command, port, "--tls-name", "other.test")
    #expect(named.code == 0, "\(named.errorText)")
    let insecure = run(command, port, "--insecure", trusting: nil)
    #expect(insecure.code == 0, "\(insecure.errorText)")
  }

  // S195
  @Test("a certificate is shown to a server that asks", arguments: commands)
  func identity(_ command: String) throws {
    let (server, port) = try TLSServers.python("hello", clients: "root")
    defer { server.kill() }
    let result = run(command, port, "--cert", made.certificate("client"), "--key", made.key("client"))
    #expect(result.code == 0, "\(result.errorText)")
    try server.collect { $0.contains("peer=a client") }
  }

  // G11; S168
  @Test("a connection that is cut is an error that says so", arguments: commands)
  func cut(_ command: String) throws {
    let (server, port) = try TLSServers.python("cut", "localhost", "--text", "partial\n")
    defer { server.kill() }
    let result = run(command, port)
    #expect(result.code == 3 && result.text.contains("partial"), "\(result.errorText)")
    #expect(result.errorText.contains("TLS -9806 "), "\(result.errorText)")
  }

  // H5
  @Test("a server that never answers is given up after --timeout", arguments: commands)
  func silent(_ command: String) throws {
    let (server, port) = try TLSServers.python("silent")
    defer { server.kill() }
    let result = run(command, port, "--timeout", "0.5")
    #expect(result.code == 6, "\(result.errorText)")
  }
}

#endif
