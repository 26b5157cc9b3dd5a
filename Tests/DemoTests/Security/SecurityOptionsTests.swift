// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// What the options of TLS say together, with a build without TLS too.

import Glibc
import SocketStreams
import Testing

@testable import Demo

@Suite("Options of TLS", .timeLimit(.minutes(2)))
struct SecurityOptionsTests {
  private func client(_ words: String...) throws -> SecurityRequest? {
    try SecurityRequest.client(ArgumentScanner.scan(["h", "1"] + words, for: ConnectCommand.spec))
  }

  private func server(_ words: String...) throws -> SecurityRequest? {
    try SecurityRequest.server(ArgumentScanner.scan(words, for: EchodCommand.spec))
  }

  /// The sentence that refuses a command line.
  private func refusal(_ command: CommandSpec, _ words: [String]) -> String? {
    do {
      let arguments = try ArgumentScanner.scan(words, for: command)
      _ = try SecurityRequest.client(arguments)
      _ = try SecurityRequest.server(arguments)
      return nil
    } catch {
      return error.message
    }
  }

  @Test("without --tls a connection is in plain")
  func plain() throws {
    #expect(try client() == nil)
    #expect(try server() == nil)
  }

  @Test("everything that is given is asked for")
  func everything() throws {
    let given = try client(
      "--tls", "--ca", "roots", "--cert", "mine", "--key", "mine.key", "--alpn", "h2,http/1.1", "--tls-name",
      "n",
      "--starttls", "", "--starttls", "GO")
    #expect(
      given
        == SecurityRequest(
          authorities: "roots", certificate: "mine", key: "mine.key", name: "n",
          protocols: ["h2", "http/1.1"],
          startLines: ["", "GO"]))
    #expect(try client("--tls", "--insecure")?.checksNothing == true)
    #expect(
      try server("--tls-cert", "c", "--tls-key", "k", "--tls-ca", "a")
        == SecurityRequest(isServer: true, authorities: "a", certificate: "c", key: "k"))
  }

  @Test("--starttls alone asks for TLS")
  func startTLS() throws {
    #expect(try client("--starttls", "GO") == SecurityRequest(startLines: ["GO"]))
  }

  @Test("a key in the same file as its certificate need not be given")
  func sameFile() throws {
    #expect(try client("--tls", "--cert", "both")?.key == nil)
    #expect(try server("--tls-cert", "both")?.key == nil)
  }

  @Test(
    "an option that has no use without another is refused with a sentence",
    arguments: [
      ("--ca x", "--ca has a use with --tls only"),
      ("--insecure", "--insecure has a use with --tls only"),
      ("--alpn x", "--alpn has a use with --tls only"),
      ("--cert x --key y", "--cert has a use with --tls only"),
      ("--tls-name x", "--tls-name has a use with --tls only"),
      ("--tls --key x", "--key has a use with --cert only"),
      ("--tls --insecure --ca x", "--insecure checks nothing, so that --ca has no use"),
    ])
  func refusedClient(_ words: String, _ sentence: String) {
    #expect(
      refusal(ConnectCommand.spec, ["h", "1"] + words.split(separator: " ").map(String.init)) == sentence)
  }

  @Test("so is one of a server's", arguments: ["--tls-key", "--tls-ca"])
  func refusedServer(_ option: String) {
    let sentence = "\(option) has a use with --tls-cert only"
    #expect(refusal(EchodCommand.spec, [option, "x"]) == sentence)
    #expect(refusal(ChatdCommand.spec, [option, "x"]) == sentence)
  }

  @Test("a Unix-domain socket has no name to check: one has to be given, or nothing checked")
  func unix() {
    let words = ["--unix", "/x", "--tls"]
    #expect(
      refusal(ConnectCommand.spec, words)
        == "With --unix there is no host for the certificate to be for: --tls-name has to be given")
    #expect(refusal(ConnectCommand.spec, words + ["--tls-name", "n"]) == nil)
    #expect(refusal(ConnectCommand.spec, words + ["--insecure"]) == nil)
  }

  @Test(
    "protocols are names with commas between, and a line has no end in it",
    arguments: [
      ["--alpn", ""], ["--alpn", "a,"], ["--alpn", ",a"], ["--alpn", String(repeating: "a", count: 256)],
      ["--starttls", "a\nb"], ["--starttls", "a\r"],
    ])
  func badValues(_ words: [String]) {
    #expect(refusal(ConnectCommand.spec, ["h", "1"] + words)?.hasPrefix("The value ") == true)
  }

  @Test("only what can say something in plain before has --starttls")
  func commands() {
    let having = Program.spec.subcommands.filter { $0.options.contains { $0.name == "starttls" } }
    #expect(having.map(\.name) == ["send", "receive", "connect"])
    let securing = Program.spec.subcommands.filter { $0.options.contains { $0.name == "tls" } }
    #expect(securing.map(\.name) == ["send", "receive", "connect", "cfread", "chat", "http10"])
  }

  @Test(
    "the streams of CoreFoundation and Foundation have no place for a file of authorities, protocols or STARTTLS",
    arguments: [
      ["send", "127.0.0.1", "1", "--foundation"], ["receive", "127.0.0.1", "1", "--foundation"],
      ["cfread", "127.0.0.1:1", "--corefoundation"],
    ])
  func foundation(_ words: [String]) {
    for option in ["--ca", "--alpn"] + (words[0] == "cfread" ? [] : ["--starttls"]) {
      let result = DemoProcess(words + ["--tls", option, "x"]).wait()
      #expect(result.code == 64)
      #expect(
        result.errorLines.first
          == "Error: \(option) is for the library's own streams, and does not go with \(words.last ?? "")")
    }
  }

  #if !TLS
  @Test(
    "a program without TLS says so", arguments: ["send h 1 --tls", "cfread h:1 --tls", "echod --tls-cert x"])
  func without(_ words: String) {
    let result = DemoProcess(words.split(separator: " ").map(String.init)).wait()
    #expect(result.code == 64 && result.output.isEmpty)
    #expect(result.errorLines.first == "Error: This program was built without TLS")
  }
  #endif
}

@Suite("Failures of TLS", .timeLimit(.minutes(2)))
struct SecurityFailureTests {
  @Test(
    "a handshake that fails is no connection, what fails later is one that broke",
    arguments: [
      (
        .tls(.certificateExpired, "TLS handshake", detail: "certificate has expired"), .read,
        "TLS -9814 the certificate has expired (h:1, TLS handshake): certificate has expired", 2
      ),
      (
        .posix(ECONNRESET, "TLS handshake"), .write,
        "POSIX 104 Connection reset by peer (h:1, TLS handshake)", 2
      ),
      (.posix(ETIMEDOUT, "TLS handshake"), .read, "POSIX 110 Connection timed out (h:1, TLS handshake)", 6),
      (
        .tls(.protocolError, "STARTTLS", detail: "it said '454'"), .connect,
        "TLS -9800 the peer does not speak TLS properly (h:1, STARTTLS): it said '454'", 2
      ),
      // TLS 1.3: the server looks at the client's certificate when the client is done.
      (
        .tls(.peerUnknownIssuer, "read"), .read,
        "TLS -9831 the peer does not know the certificate's issuer (h:1, TLS handshake)", 2
      ),
      (
        .tls(.certificateRequired, "read"), .write,
        "TLS -9863 a certificate is required (h:1, TLS handshake)", 2
      ),
      (
        .tls(.closedWithoutNotice, "read"), .read,
        "TLS -9806 the connection was cut without the end of TLS (h:1, read)", 3
      ),
      (.tls(.badRecord, "read"), .read, "TLS -9846 a record was damaged (h:1, read)", 3),
      (
        .tls(.badSettings, "connect"), .connect, "TLS -9848 the TLS settings cannot be used (h:1, connect)", 2
      ),
    ] as [(StreamError, Phase, String, Int32)])
  func lines(_ error: StreamError, _ phase: Phase, _ line: String, _ code: Int32) {
    let failure = Failure(error, during: phase)
    #expect(failure.line(for: "h:1") == line)
    #expect(failure.exitCode.rawValue == code)
  }

  @Test("what is wrong with a file names it")
  func files() {
    let failure = Failure(.tls(.badCertificate, "key", detail: "no start line"), inFile: "/x")
    #expect(
      failure.line(for: "h:1") == "TLS -9808 the certificate cannot be used (h:1, read): /x: no start line")
    #expect(failure.exitCode == .localFile)
  }
}
