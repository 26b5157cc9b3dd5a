// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The program's own servers over TLS, with its own clients and OpenSSL's.

#if TLS

import Glibc
import Testing

@Suite("Servers over TLS", .timeLimit(.minutes(4)))
struct TLSServerTests {
  private let made = TestCertificates.shared

  private func send(_ port: String, _ more: [String]) -> DemoResult {
    DemoProcess(["send", "127.0.0.1", port, "--text", "hello", "--receive"] + trusted + more).wait()
  }

  // J2
  @Test("echod sends back over TLS what comes over TLS", arguments: [["--closure"], ["--threads", "2"]])
  func echo(_ way: [String]) throws {
    let words = ["--events", "--json"] + way
    let process = DemoProcess(
      ["echod", "--tls-cert", made.certificate("localhost"), "--tls-key", made.key("localhost")] + words)
    #expect(process.tells("listening on "))
    let port = String(
      try #require(process.errorsSoFar.split(separator: "\n").first?.split(separator: ":").last))
    let results = (1...3).map { _ in send(port, []) }
    for result in results { #expect(result.code == 0 && result.text == "hello\n", "\(result.errorText)") }
    #expect(process.tells("3: done, 5 bytes"), "\(process.errorsSoFar)")
    #expect(process.errorsSoFar.contains("1: TLS 1.3, TLS_"), "\(process.errorsSoFar)")
    process.send(signal: 15)
    let result = process.wait()
    #expect(result.status == 143)
    #expect(
      result.text.contains(#""socketsLeft":0"#) && result.text.contains(#""received":15"#), "\(result.text)")
  }

  @Test("OpenSSL's client is served", arguments: ["-tls1_2", "-tls1_3"])
  func client(_ version: String) throws {
    let (process, port) = try TLSServers.own("echod", "--once", "--events")
    // It checks the certificate, ends with its input, and shows what came before.
    let client = try ServerProcess(
      "/bin/sh",
      [
        "-c",
        "printf 'from openssl\\n' | openssl s_client -connect 127.0.0.1:\(port) \(version) -quiet -verify_return_error"
          + " -verify_ip 127.0.0.1 -CAfile \(made.certificate("root")) -no_ign_eof; echo status $?",
      ])
    defer { client.kill() }
    let result = process.wait()
    #expect(result.errorText.contains("1: done, 13 bytes"), "\(result.errorText)")
    #expect(result.code == 0)
    try client.collect { $0.contains("status 0\n") }
  }

  // J8
  @Test("--tls-ca asks each client for a certificate, and lets nobody in without a good one")
  func clientCertificates() throws {
    let (process, port) = try TLSServers.own("echod", "--events", "--tls-ca", made.certificate("root"))
    defer { process.send(signal: 9) }
    let identity = ["--cert", made.certificate("client"), "--key", made.key("client")]
    let known = send(port, identity)
    #expect(known.code == 0 && known.text == "hello\n", "\(known.errorText)")
    // The refusal may come together with a reset, and which is seen first is a matter of chance.
    for _ in 1...5 {
      let without = send(port, [])
      #expect(without.code == 2 && without.output.isEmpty, "\(without.errorText)")
    }
    let stranger = send(
      port, ["--cert", made.certificate("client-unknown"), "--key", made.key("client-unknown")])
    #expect(stranger.code == 2 && stranger.output.isEmpty, "\(stranger.errorText)")
    #expect(process.tells("2: TLS handshake: a certificate is required (TLS -9863"), "\(process.errorsSoFar)")
    #expect(
      process.tells("7: TLS handshake: the issuer of the certificate is not known"), "\(process.errorsSoFar)")
    // None of that keeps others out.
    #expect(send(port, identity).code == 0)
  }

  @Test("a client without TLS, and one that hangs up, are told of and keep nobody else out")
  func badClients() throws {
    let (process, port) = try TLSServers.own("echod", "--events")
    defer { process.send(signal: 9) }
    let plain = DemoProcess(["send", "127.0.0.1", port, "--text", "GET / HTTP/1.0", "--receive"]).wait()
    #expect(!plain.text.contains("GET"), "\(plain.text)")
    #expect(process.tells("1: TLS handshake: the peer does not speak TLS properly"), "\(process.errorsSoFar)")
    let fd = SocketCalls.connect(port: try #require(UInt16(port)))
    close(fd)
    #expect(process.tells("2: TLS handshake: "), "\(process.errorsSoFar)")
    #expect(send(port, []).code == 0)
  }

  @Test(
    "who could not be secured, and why, is told once with --verbose or --events, and not without",
    arguments: ["echod", "chatd"], [[], ["--verbose"], ["--events"], ["--verbose", "--events"]])
  func told(_ command: String, _ flags: [String]) throws {
    let (process, port) = try TLSServers.own(command, flags)
    defer { process.send(signal: 9) }
    let number = try #require(UInt16(port))
    let (plain, gone) = (SocketCalls.connect(port: number), SocketCalls.connect(port: number))
    let (name, other) = (SocketCalls.port(of: plain), SocketCalls.port(of: gone))
    #expect(SocketCalls.sendAll(plain, Array("GET / HTTP/1.0\r\n\r\n".utf8)))
    // The server has hung up, or said so in TLS first.
    _ = SocketCalls.readAll(plain, limit: 1_000)
    close(plain)
    if !flags.isEmpty { #expect(process.collect { $0.errorText.contains("does not speak TLS properly") }) }
    close(gone)
    let what = "TLS handshake: "
    if !flags.isEmpty { #expect(process.collect { $0.errorLines.count { $0.contains(what) } > 1 }) }
    // One that is served is told nothing of.
    _ = send(port, [])
    process.send(signal: 15)
    let lines = process.wait().errorLines
    let told = lines.filter { $0.contains(what) }
    #expect(told.count == (flags.isEmpty ? 0 : 2), "\(lines)")
    guard flags == ["--verbose"] else { return }
    let start = "127.0.0.1:\(name): TLS handshake: the peer does not speak TLS properly (TLS -9800"
    #expect(told.first?.hasPrefix(start) == true, "\(told)")
    #expect(told.last?.hasPrefix("127.0.0.1:\(other): TLS handshake: ") == true, "\(told)")
  }

  @Test("with --once a client that is not secured is how the server ends")
  func once() throws {
    let (process, port) = try TLSServers.own("echod", "--once")
    _ = DemoProcess(["send", "127.0.0.1", port]).wait()
    let result = process.wait()
    #expect(result.code == 2, "\(result.errorText)")
    #expect(result.errorText.contains("TLS -9800 "), "\(result.errorText)")
  }

  @Test("a chat goes over TLS, and its server tells what was agreed upon")
  func chat() throws {
    let (server, port) = try TLSServers.own("chatd", "--events")
    defer { server.send(signal: 9) }
    let number = try #require(UInt16(port))
    let ann = chat("Ann", number, "--verbose")
    #expect(ann.shows("Ann joined"), "\(ann.errorsSoFar)")
    #expect(ann.tells("TLS 1.3, "), "\(ann.errorsSoFar)")
    let bob = chat("Bob", number)
    #expect(ann.shows("Bob joined"))
    bob.write("hello over TLS\n")
    #expect(ann.shows("Bob: hello over TLS"))
    bob.write("/quit\n")
    #expect(bob.wait().code == 0)
    #expect(ann.shows("Bob left"))
    #expect(server.tells("1: TLS 1.3, "), "\(server.errorsSoFar)")
    // A server that goes away without a word has cut the connection.
    server.send(signal: 9)
    let result = ann.wait()
    #expect(result.code == 3, "\(result.errorText)")
  }

  @Test("a chat that is to be kept up does not begin with a server that is not trusted")
  func untrustedChat() throws {
    let (server, port) = try TLSServers.python("echo", "by-unknown")
    defer { server.kill() }
    let result = chat("Ann", try #require(UInt16(port)), "--reconnect").wait()
    #expect(result.code == 2, "\(result.errorText)")
    #expect(!result.errorText.contains("connecting again"), "\(result.errorText)")
  }

  @Test("a chat comes back over TLS when its server does")
  func reconnect() throws {
    let (first, port) = try TLSServers.own("chatd")
    let number = try #require(UInt16(port))
    let ann = chat("Ann", number, "--reconnect")
    #expect(ann.shows("Ann joined"), "\(ann.errorsSoFar)")
    first.send(signal: 9)
    _ = first.wait()
    #expect(ann.tells("disconnected"), "\(ann.errorsSoFar)")
    let (second, _) = try TLSServers.own("chatd", port)
    defer { second.send(signal: 9) }
    #expect(ann.shows("Ann joined", count: 2), "\(ann.errorsSoFar)")
    ann.write("/quit\n")
    #expect(ann.wait().code == 0)
  }

  private func chat(_ name: String, _ port: UInt16, _ more: String...) -> DemoProcess {
    DemoProcess(["chat", "127.0.0.1", "\(port)", "--name", name] + trusted + more, keepsInput: true)
  }
}

#endif
