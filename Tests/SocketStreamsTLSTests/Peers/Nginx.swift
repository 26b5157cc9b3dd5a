// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// nginx with TLS, before a folder of a test's or before a server of ours.
import Glibc

/// One run of nginx, on ports of 127.0.0.1 that the kernel chose.
final class Nginx {
  /// Serves HTTPS.
  let port: UInt16
  /// Serves HTTPS to clients with a certificate of the test authority's only.
  let clientsPort: UInt16
  /// Serves HTTP, with what it gets over HTTPS from ``init(before:)``'s server.
  let proxyPort: UInt16
  /// Hold the ports for nginx, which shares them: these sockets do not listen, so all connections are nginx's.
  private let reservations: [RefusedPort]
  private let folder = TemporaryFolder()
  private let server: ServerProcess

  /// - Parameters:
  ///   - page: What `/page` has.
  ///   - proxied: The port of a server of ours on 127.0.0.1, whom nginx checks.
  init(page: [UInt8], before proxied: UInt16 = 1) throws {
    reservations = try (0..<3).map { _ in try RefusedPort(isShared: true) }
    (port, clientsPort, proxyPort) = (reservations[0].port, reservations[1].port, reservations[2].port)
    try Self.write(page, folder.folder("www") + "/page")
    let text = Self.configuration(folder.path, port, clientsPort, proxyPort, proxied)
    try Self.write(Array(text.utf8), folder.file("nginx.conf"))
    server = try ServerProcess("nginx", ["-p", folder.path, "-c", "nginx.conf"])
    for port in [port, clientsPort, proxyPort] { try server.acceptConnections(on: port, seconds: 60) }
  }

  deinit { server.kill() }

  private static func write(_ bytes: [UInt8], _ path: String) throws {
    let fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
    defer { close(fd) }
    guard Glibc.write(fd, bytes, bytes.count) == bytes.count else { throw RawFailure("write \(path)") }
  }

  /// A process of its own, with nothing outside `folder` but the certificates.
  private static func configuration(
    _ folder: String, _ port: UInt16, _ clientsPort: UInt16, _ proxyPort: UInt16, _ proxied: UInt16
  ) -> String {
    let made = TestCertificates.shared
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
      "  \($0)_temp_path \(folder)/\($0);"
    }
    let identity = """
      ssl_certificate \(made.certificate("localhost")); ssl_certificate_key \(made.key("localhost"));
      """
    return """
      worker_processes 1;
      daemon off;
      master_process off;
      pid \(folder)/nginx.pid;
      error_log stderr warn;
      events { worker_connections 64; }
      http {
        access_log off;
      \(temporary.joined(separator: "\n"))
        root \(folder)/www;
        server { listen 127.0.0.1:\(port) ssl; \(identity) }
        server {
          listen 127.0.0.1:\(clientsPort) ssl; \(identity)
          ssl_verify_client on; ssl_client_certificate \(made.certificate("root"));
        }
        server {
          listen 127.0.0.1:\(proxyPort);
          location / {
            proxy_pass https://127.0.0.1:\(proxied);
            proxy_ssl_verify on; proxy_ssl_trusted_certificate \(made.certificate("root"));
            proxy_ssl_name localhost; proxy_ssl_server_name on; proxy_ssl_protocols TLSv1.2 TLSv1.3;
          }
        }
      }

      """
  }
}
