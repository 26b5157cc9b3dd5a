// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// The openssl program as the other side, which is told what to do through its standard input.
import Glibc

/// A program with a pipe that a test writes into as its standard input.
final class TypedProcess {
  let process: ServerProcess
  private let pipe: Int32
  private let folder = TemporaryFolder()

  init(_ program: String, _ arguments: [String]) throws {
    let path = folder.file("input")
    guard mkfifo(path, 0o600) == 0 else { throw RawFailure("mkfifo") }
    // Open for both, so that nobody waits for the other end.
    pipe = open(path, O_RDWR | O_CLOEXEC)
    guard pipe >= 0 else { throw RawFailure("open") }
    process = try ServerProcess("/bin/sh", ["-c", "exec \"$0\" \"$@\" <> \(path)", program] + arguments)
  }

  deinit {
    process.kill()
    close(pipe)
  }

  /// Types a line.
  func type(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(pipe, bytes, bytes.count)
  }
}

/// `openssl s_server` and `openssl s_client`.
enum OpenSSLPeer {
  /// A server on 127.0.0.1 with NAME.pem and NAME.key.
  static func server(_ name: String = "localhost", _ options: String...) throws -> (
    server: TypedProcess, port: UInt16
  ) {
    let made = TestCertificates.shared
    let server = try TypedProcess(
      "openssl",
      ["s_server", "-accept", "127.0.0.1:0", "-cert", made.certificate(name), "-key", made.key(name)]
        + options)
    return (server, try server.process.number(after: "ACCEPT 127.0.0.1:"))
  }

  /// A client of a server on 127.0.0.1 that it has to find trustworthy.
  static func client(port: UInt16, _ options: String...) throws -> TypedProcess {
    let trust = ["-CAfile", TestCertificates.shared.certificate("root"), "-verify_return_error"]
    return try TypedProcess("openssl", ["s_client", "-connect", "127.0.0.1:\(port)"] + trust + options)
  }
}
