// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Python's ssl as the other side: the programs in Servers/.
import Testing

/// `Servers/tlsd.py`, which treats each connection in the way that its mode says.
final class PythonServer {
  let process: ServerProcess
  let port: UInt16
  private let releasePort: UInt16

  /// - Parameters:
  ///   - name: Of the certificate and key, NAME.pem and NAME.key.
  ///   - chain: Of a file with certificates that are shown instead of NAME.pem.
  convenience init(_ mode: String, _ name: String = "localhost", chain: String? = nil, _ options: String...)
    throws
  {
    try self.init(mode, name, chain: chain, options: options)
  }

  init(_ mode: String, _ name: String, chain: String? = nil, options: [String]) throws {
    let made = TestCertificates.shared
    let identity = ["--cert", made.file(chain ?? "\(name).pem"), "--key", made.key(name)]
    process = try ServerProcess(
      ServerProcess.python, ["-B", "-u", Self.script("tlsd.py"), mode] + identity + options)
    releasePort = try process.number(after: "release ")
    port = try process.number(after: "\nport ")
  }

  /// Waits until it has printed `text`; what it has printed is in the failure if not.
  func expect(_ text: String, _ location: SourceLocation = #_sourceLocation) {
    process.expect(text, location)
  }

  /// Lets the mode `slow` read.
  func release() { _ = TestPort.answers(releasePort) }

  /// The path of a program in Servers/.
  static func script(_ name: String) -> String {
    let folders = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
    return folders.joined(separator: "/") + "/Servers/" + name
  }
}

/// One run of `Servers/tlsc.py`, which does what its mode says.
enum PythonClient {
  /// Starts it against a server on 127.0.0.1, trusting the test authority.
  static func start(_ mode: String, port: UInt16, _ options: String...) throws -> ServerProcess {
    let trust = ["--ca", TestCertificates.shared.certificate("root")]
    return try ServerProcess(
      ServerProcess.python,
      ["-B", "-u", PythonServer.script("tlsc.py"), mode, String(port)] + trust + options)
  }
}

extension ServerProcess {
  /// Waits until it has printed `text`; what it has printed is in the failure if not.
  func expect(_ text: String, _ location: SourceLocation = #_sourceLocation) {
    do {
      try collect(seconds: 60) { $0.contains(text) }
    } catch {
      Issue.record("no '\(text)': \(error)", sourceLocation: location)
    }
  }
}
