// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

extension Nginx {
  /// Serves `/page` over HTTPS, to everybody and to clients with a certificate of the test authority's only.
  /// - Parameter proxied: The port of a server of ours on 127.0.0.1, whom nginx checks, and passes on over HTTP.
  static func secured(_ page: [UInt8], before proxied: UInt16 = 1) throws -> Nginx {
    let made = TestCertificates.shared
    let root = made.certificate("root")
    let identity =
      "ssl_certificate \(made.certificate("localhost")); ssl_certificate_key \(made.key("localhost"));"
    let proxying = """
      proxy_pass https://127.0.0.1:\(proxied); proxy_ssl_verify on; proxy_ssl_trusted_certificate \(root);
      proxy_ssl_name localhost; proxy_ssl_server_name on; proxy_ssl_protocols TLSv1.2 TLSv1.3;
      """
    let nginx = try Nginx([
      "listen PORT ssl; \(identity)",
      "listen PORT ssl; \(identity) ssl_verify_client on; ssl_client_certificate \(root);",
      "listen PORT; location / { \(proxying) }",
    ])
    try nginx.serve("page", page)
    return nginx
  }

  var clientsPort: UInt16 { ports[1] }
  var proxyPort: UInt16 { ports[2] }
}
