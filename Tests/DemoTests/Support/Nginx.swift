// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// nginx, serving a folder of a test's.

import Glibc

/// One run of nginx.
final class Nginx {
  let port: UInt16
  /// Holds the port for nginx, which shares it: this socket does not listen, so all connections are nginx's.
  private let reservation: Int32
  private let folder = TemporaryFolder()
  private let server: ServerProcess
  private let root: String

  init() throws {
    (reservation, port) = SocketCalls.reservePort()
    root = folder.folder("www")
    try TextFile.write(Self.configuration(folder.path, port), to: folder.file("nginx.conf"))
    server = try ServerProcess("nginx", ["-p", folder.path, "-c", "nginx.conf"])
    try server.acceptConnections(on: port)
  }

  deinit {
    server.kill()
    close(reservation)
  }

  /// Serves `bytes` as `name`.
  func serve(_ name: String, _ bytes: [UInt8]) throws { try TextFile.write(bytes, to: root + "/" + name) }

  /// Serves so many zeros as `name`, without that they take room on the disk.
  func serve(_ name: String, zeros count: Int) throws {
    try serve(name, [])
    precondition(truncate(root + "/" + name, off_t(count)) == 0, "truncate: \(errno)")
  }

  /// A process of its own, with nothing outside `folder`.
  private static func configuration(_ folder: String, _ port: UInt16) -> String {
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
      \(temporary.joined(separator: "\n"))
        server { listen 127.0.0.1:\(port) reuseport; root \(folder)/www; }
      }

      """
  }
}
