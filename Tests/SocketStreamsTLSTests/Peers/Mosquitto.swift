// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// mosquitto with TLS.
import Glibc

/// One broker, on 127.0.0.1.
final class Mosquitto {
  let port: UInt16
  private let server: ServerProcess
  private let file: String

  init() throws {
    let made = TestCertificates.shared
    var template = Array("/tmp/mosquitto-XXXXXX".utf8CString)
    let fd = mkstemp(&template)
    guard fd >= 0 else { throw RawFailure("mkstemp") }
    defer { close(fd) }
    file = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // The broker has to be told a port: one that is free now, and with luck still is when the broker asks for it. If it
    // was started by root, it is to stay root, who can read the key.
    for attempt in 1... {
      let port = try TestPort.free()
      let lines = [
        "user root", "listener \(port) 127.0.0.1", "allow_anonymous true", "persistence false",
        "certfile \(made.certificate("localhost"))", "keyfile \(made.key("localhost"))", "",
      ]
      let text = Array(lines.joined(separator: "\n").utf8)
      guard ftruncate(fd, 0) == 0, pwrite(fd, text, text.count, 0) == text.count else {
        throw RawFailure("write")
      }
      let server = try ServerProcess("mosquitto", ["-c", file])
      do {
        try server.acceptConnections(on: port, seconds: 60)
      } catch {
        if attempt < 5, server.printed.contains("Address already in use") { continue }
        throw error
      }
      (self.server, self.port) = (server, port)
      return
    }
    throw RawFailure("no port for the broker")
  }

  deinit {
    server.kill()
    unlink(file)
  }
}
