// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// nginx, serving a folder of a test's.

import Glibc

/// One run of nginx, with one server or several.
final class Nginx {
  /// Where each of its servers listens on 127.0.0.1.
  let ports: [UInt16]
  var port: UInt16 { ports[0] }
  /// Hold the ports for nginx, which shares them: these sockets do not listen, so all connections are nginx's.
  private let reservations: [RefusedPort]
  private let folder = TemporaryFolder()
  private let server: ServerProcess
  private let root: String

  /// - Parameter servers: What each server's block has besides the folder; `PORT` stands for address and port.
  init(_ servers: [String] = ["listen PORT;"]) throws {
    reservations = try servers.map { _ in try RefusedPort(isShared: true) }
    ports = reservations.map(\.port)
    root = folder.folder("www")
    let blocks = zip(servers, ports).map { "  server { \($0.replacing("PORT", with: "127.0.0.1:\($1)")) }" }
    try TextFile.write(Self.configuration(folder.path, blocks), to: folder.file("nginx.conf"))
    server = try ServerProcess("nginx", ["-p", folder.path, "-c", "nginx.conf"])
    for port in ports { try server.acceptConnections(on: port, seconds: 60) }
  }

  deinit { server.kill() }

  /// Serves `bytes` as `name`.
  func serve(_ name: String, _ bytes: [UInt8]) throws { try TextFile.write(bytes, to: root + "/" + name) }

  /// Serves so many zeros as `name`, without that they take room on the disk.
  func serve(_ name: String, zeros count: Int) throws {
    try serve(name, [])
    precondition(truncate(root + "/" + name, off_t(count)) == 0, "truncate: \(errno)")
  }

  /// A process of its own, with nothing outside `folder`.
  private static func configuration(_ folder: String, _ servers: [String]) -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
      "  \($0)_temp_path \(folder)/\($0);"
    }
    return """
      worker_processes 1;
      daemon off;
      master_process off;
      pid \(folder)/nginx.pid;
      error_log stderr warn;
      events { worker_connections 256; }
      http {
        access_log off;
        default_type application/octet-stream;
        types { text/html html; image/png png; }
        root \(folder)/www;
      \((temporary + servers).joined(separator: "\n"))
      }

      """
  }
}
