// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Servers that other people wrote: Python's sockets and socat, on ports of the kernel's choice.

import Testing

/// Servers outside this process.
enum RealServers {
  /// `Servers/tcpd.py`, which treats each connection in the way that `mode` says.
  static func python(_ mode: String) throws -> (server: ServerProcess, port: String) {
    let folders = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
    let script = folders.joined(separator: "/") + "/Servers/tcpd.py"
    let server = try ServerProcess(ServerProcess.python, ["-u", script, mode])
    return (server, String(try server.number(after: "port ")))
  }

  /// socat between a TCP listener, `TCP`, and another address, in this order or the other.
  static func socat(_ words: String...) throws -> (server: ServerProcess, port: String) {
    let server = try socat(words.map { $0 == "TCP" ? "TCP-LISTEN:0,bind=127.0.0.1" : $0 })
    return (server, String(try server.number(after: "listening on AF=2 127.0.0.1:")))
  }

  /// The same with a Unix-domain socket at `path`, `UNIX`.
  static func socat(_ words: String..., path: String) throws -> ServerProcess {
    let server = try socat(words.map { $0 == "UNIX" ? "UNIX-LISTEN:\(path)" : $0 })
    try server.collect { $0.contains("listening on AF=1") }
    return server
  }

  private static func socat(_ words: [String]) throws -> ServerProcess {
    // It tells where it listens, and waits long enough for one side after the other has ended.
    try ServerProcess("socat", ["-d", "-d", "-t", "60"] + words)
  }
}
