// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The commands that connect, over TLS, with servers that other people wrote.

#if TLS

import Testing

@Suite("Commands over TLS", .timeLimit(.minutes(4)))
struct TLSClientTests {
  private let made = TestCertificates.shared

  private func run(_ command: String, _ port: String, _ more: [String], input: String? = nil) -> DemoResult {
    let place = command == "cfread" ? ["127.0.0.1:\(port)"] : ["127.0.0.1", port]
    let process = DemoProcess([command] + place + more, keepsInput: input != nil)
    if let input {
      process.write(input)
      process.closeInput()
    }
    return process.wait()
  }

  // J1, J17
  @Test(
    "a conversation with OpenSSL's server goes both ways, and --verbose tells what was agreed upon",
    arguments: [("-tls1_2", "TLS 1.2, "), ("-tls1_3", "TLS 1.3, TLS_")], ["direct", "bufferevent"])
  func conversation(_ version: (option: String, told: String), _ transport: String) throws {
    let (server, port) = try TLSServers.openssl(version.option)
    defer { server.kill() }
    let process = DemoProcess(
      ["connect", "localhost", port, "--verbose", "--transport", transport] + trusted, keepsInput: true)
    process.write("sdrawkcab\n")
    #expect(process.shows("backwards"), "\(process.errorsSoFar)")
    let told = process.errorsSoFar.split(separator: "\n").first { $0.hasPrefix("TLS ") } ?? ""
    #expect(told.hasPrefix(version.told) && told.contains(", key SHA-256 "), "\(process.errorsSoFar)")
    let hash = told.split(separator: " ").last ?? ""
    #expect(hash.count == 64 && hash.allSatisfy(\.isHexDigit), "\(told)")
    process.closeInput()
    let result = process.wait()
    #expect(result.code == 0, "\(result.errorText)")
  }

  @Test("without --verbose nothing is told of TLS, and without --insecure nothing is warned of")
  func quiet() throws {
    let (server, port) = try TLSServers.python("hello")
    defer { server.kill() }
    let result = run("receive", port, trusted)
    #expect(result.code == 0 && result.text == "receive: Hello over TLS 你好\n", "\(result.errorText)")
    #expect(!result.errorText.contains("TLS") && !result.errorText.contains("warning"), "\(result.errorText)")
  }

  @Test("a file goes over TLS whole, and the server sees its end")
  func file() throws {
    let (server, port) = try TLSServers.python("answer")
    defer { server.kill() }
    let folder = TemporaryFolder()
    try TextFile.write([UInt8](repeating: UInt8(ascii: "f"), count: 3_000_000), to: folder.file("f"))
    let result = run("send", port, trusted + ["--file", folder.file("f")])
    #expect(result.code == 0, "\(result.errorText)")
    try server.collect { $0.contains("got 3000000 other end notice b'ffff") }
  }

  @Test("several connections at once are secured each, and a server that has all may go without a word")
  func several() throws {
    let (server, port) = try TLSServers.python("rude")
    defer { server.kill() }
    let result = run("send", port, trusted + ["--count", "5", "--text", "five"])
    #expect(result.code == 0, "\(result.errorText)")
    try server.collect {
      $0.split(separator: "\n").count { $0.hasPrefix("got 4 other end notice b'five'") } == 5
    }
  }

  @Test("events come in their order: open completed at once, bytes after the handshake")
  func events() throws {
    let (server, port) = try TLSServers.python("hello")
    defer { server.kill() }
    let result = run("receive", port, trusted + ["--events", "--verbose"])
    #expect(result.code == 0, "\(result.errorText)")
    let told = result.errorLines
    let opened = try #require(told.firstIndex(of: "read openCompleted"), "\(result.errorText)")
    let secured = try #require(told.firstIndex { $0.hasPrefix("TLS 1.") }, "\(result.errorText)")
    let bytes = try #require(
      told.firstIndex { $0.hasPrefix("read hasBytesAvailable ") }, "\(result.errorText)")
    let end = try #require(told.firstIndex(of: "read endEncountered"), "\(result.errorText)")
    #expect(opened < secured && secured < bytes && bytes < end, "\(result.errorText)")
  }

  @Test("a C callback on a read half alone is told the same over TLS")
  func readHalf() throws {
    let (server, port) = try TLSServers.python("hello")
    defer { server.kill() }
    let result = run("cfread", port, trusted + ["--verbose"])
    #expect(result.code == 0 && result.text == "Hello over TLS 你好\n", "\(result.errorText)")
    #expect(result.errorLines.contains { $0.hasPrefix("TLS 1.") }, "\(result.errorText)")
    let blocking = run("cfread", port, trusted + ["--block"])
    #expect(blocking.code == 0 && blocking.text == "Hello over TLS 你好\n", "\(blocking.errorText)")
  }

  @Test("a page comes over TLS, and is saved")
  func page() throws {
    let (server, port) = try TLSServers.python("page")
    defer { server.kill() }
    let folder = TemporaryFolder()
    let result = run(
      "http10", port, trusted + ["--out", folder.path, "--verbose"], input: "GET / HTTP/1.0\n\n")
    #expect(result.code == 0 && result.text.hasPrefix("HTTP/1.0 200 OK\n"), "\(result.errorText)")
    #expect(try TextFile.read(folder.file("get.html")) == "<p>ok</p>")
    #expect(result.errorLines.contains { $0.hasPrefix("TLS 1.") }, "\(result.errorText)")
  }

  // J4, J5
  @Test("--tls-name is what the certificate has to be for, and what the server is asked for")
  func name() throws {
    let (server, port) = try TLSServers.python("hello", "other.test")
    defer { server.kill() }
    let result = run("receive", port, trusted + ["--tls-name", "other.test", "--verbose"])
    #expect(result.code == 0, "\(result.errorText)")
    #expect(result.errorText.contains(", for other.test, "), "\(result.errorText)")
  }

  @Test("a Unix-domain socket is secured as a port is")
  func unix() throws {
    let folder = TemporaryFolder()
    // No other program at hand has TLS on such a socket.
    let own = DemoProcess([
      "echod", "--unix", folder.file("s"), "--tls-cert", made.certificate("localhost"), "--tls-key",
      made.key("localhost"), "--once",
    ])
    #expect(own.collect { $0.text.hasPrefix("listening on ") })
    let result = DemoProcess(
      ["send", "--unix", folder.file("s"), "--tls-name", "localhost", "--text", "hi", "--receive"] + trusted
    ).wait()
    #expect(result.code == 0 && result.text == "hi\n", "\(result.errorText)")
    #expect(own.wait().code == 0)
  }

  // J6
  @Test("the server's choice among the protocols of --alpn is told")
  func alpn() throws {
    let (server, port) = try TLSServers.openssl("-alpn", "http/1.1,h2")
    defer { server.kill() }
    let result = run("connect", port, trusted + ["--verbose", "--alpn", "h2,http/1.1"], input: "x\n")
    #expect(result.code == 0, "\(result.errorText)")
    #expect(result.errorText.contains(", ALPN http/1.1, "), "\(result.errorText)")
  }

  // J7
  @Test("a certificate is shown to a server that asks", arguments: ["--key", "same file"])
  func clientCertificate(_ form: String) throws {
    let (server, port) = try TLSServers.python("hello", clients: "root")
    defer { server.kill() }
    let folder = TemporaryFolder()
    var identity = ["--cert", made.certificate("client"), "--key", made.key("client")]
    if form != "--key" {
      try TextFile.write(made.bytes("client.pem") + made.bytes("client.key"), to: folder.file("both"))
      identity = ["--cert", folder.file("both")]
    }
    let result = run("receive", port, trusted + identity)
    #expect(result.code == 0 && result.text.hasPrefix("receive: Hello"), "\(result.errorText)")
    try server.collect { $0.contains("peer=a client") }
  }

  // J11
  @Test("--insecure lets anybody be at the other end, and says so before anything else")
  func insecure() throws {
    let (server, port) = try TLSServers.python("hello", "self-signed")
    defer { server.kill() }
    let result = run("receive", port, ["--tls", "--insecure"])
    #expect(result.code == 0 && result.text.hasPrefix("receive: Hello"), "\(result.errorText)")
    #expect(
      result.errorLines.first == "warning: nothing is checked (--insecure): anybody can be at the other end",
      "\(result.errorText)")
  }

  // J3
  @Test("without --ca it is the system's authorities that are trusted, of whom the tests' is none")
  func systemRoots() throws {
    let (server, port) = try TLSServers.python("hello")
    defer { server.kill() }
    let result = run("receive", port, ["--tls"])
    #expect(result.code == 2 && result.output.isEmpty, "\(result.errorText)")
    #expect(result.errorText.contains("TLS -9813 "), "\(result.errorText)")
  }
}

#endif
