// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Runs of `demo http10`, with what is typed and a folder of their own.

import Glibc

/// A folder for the bodies of replies, and runs of the program that save there.
struct HTTP10 {
  let folder = TemporaryFolder()
  let port: UInt16

  init(_ port: UInt16) { self.port = port }

  init(_ server: Nginx) { port = server.port }

  /// Begins a run whose standard input stays open.
  func start(_ more: [String] = [], environment: [String: String] = [:]) -> DemoProcess {
    DemoProcess(
      ["http10", "127.0.0.1", "\(port)", "--out", folder.path] + more, environment: environment,
      keepsInput: true)
  }

  /// Types `requests`, and waits for the end.
  func type(_ requests: String, _ more: String...) -> DemoResult {
    let process = start(more)
    process.write(requests)
    process.closeInput()
    return process.wait()
  }

  /// Asks for `path`.
  func get(_ path: String, _ more: String...) -> DemoResult {
    let process = start(more)
    process.write("GET \(path) HTTP/1.0\n\n")
    process.closeInput()
    return process.wait()
  }

  /// What was saved as `name`.
  func saved(_ name: String) throws -> [UInt8] { try TextFile.bytes(folder.file(name)) }
}

/// Servers/badhttp.py.
final class BadHTTP {
  /// The start of the body that it sends.
  static let body = (0..<100_000).map { UInt8($0 % 251) }

  let server: ServerProcess
  let port: UInt16

  init() throws {
    let folders = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
    let script = folders.joined(separator: "/") + "/Servers/badhttp.py"
    server = try ServerProcess(ServerProcess.python, [script])
    port = try server.number(after: "port ")
  }
}

extension DemoResult {
  /// The lines of standard output.
  var lines: [String] { text.split(separator: "\n").map(String.init) }

  /// The one line that tells an error, without its mark; `nil` if there is none or another.
  var errorLine: String? {
    let lines = errorLines.filter { $0.hasPrefix("error: ") }
    return lines.count == 1 ? String(lines[0].dropFirst(7)) : nil
  }
}
