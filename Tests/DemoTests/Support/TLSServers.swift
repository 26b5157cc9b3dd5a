// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Servers with TLS for the tests of the program: Python's, OpenSSL's, and the program's own.

#if TLS

import Testing

/// The options with which a client trusts the authority of the tests.
let trusted = ["--tls", "--ca", TestCertificates.shared.certificate("root")]

enum TLSServers {
  private static let made = TestCertificates.shared

  /// `Servers/tlsd.py`, which treats each connection in the way that `mode` says, with a certificate of the tests'.
  /// - Parameter clients: The certificate of the authority of which clients have to show one.
  static func python(
    _ mode: String, _ certificate: String = "localhost", clients: String? = nil, _ more: String...
  ) throws -> (server: ServerProcess, port: String) {
    let asking = clients.map { ["--clients", "required", "--ca", made.certificate($0)] } ?? []
    let server = try PythonServer(mode, certificate, options: asking + more)
    return (server.process, String(server.port))
  }

  /// `openssl s_server`, which sends back each line in reverse.
  static func openssl(_ more: String...) throws -> (server: ServerProcess, port: String) {
    let words = [
      "s_server", "-accept", "127.0.0.1:0", "-rev", "-cert", made.certificate("localhost"), "-key",
      made.key("localhost"),
    ]
    let server = try ServerProcess("openssl", words + more)
    return (server, String(try server.number(after: "ACCEPT 127.0.0.1:")))
  }

  /// `echod`, or another server of the program's, with the certificate for localhost.
  static func own(_ command: String, _ more: String...) throws -> (process: DemoProcess, port: String) {
    try own(command, more)
  }

  static func own(_ command: String, _ more: [String]) throws -> (process: DemoProcess, port: String) {
    let words = [command, "--tls-cert", made.certificate("localhost"), "--tls-key", made.key("localhost")]
    let process = DemoProcess(words + more)
    #expect(process.collect { $0.output.contains(UInt8(ascii: "\n")) })
    let line = process.outputSoFar.prefix { $0 != "\n" }
    return (process, String(try #require(line.split(separator: ":").last, "\(process.errorsSoFar)")))
  }
}

#endif
