// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

#if TLS

import Glibc
import SocketStreams
import Testing

@testable import SocketStreamsTLS

@Suite("Files of certificates and keys")
struct FileTests {
  @Test("a file that is not there is a POSIX error with its path")
  func missing() throws {
    let made = TestCertificates.shared
    let error = #expect(throws: StreamError.self) {
      try TLSCertificate.certificates(inFile: "/no/such/x.pem")
    }
    #expect(error == .posix(ENOENT, "read /no/such/x.pem"))
    let key = #expect(throws: StreamError.self) {
      try TLSIdentity(certificateFile: made.certificate("localhost"), keyFile: "/no/such/x.key")
    }
    #expect(key == .posix(ENOENT, "read /no/such/x.key"))
  }

  @Test("a folder, and a path with a zero byte, are no files")
  func folder() throws {
    let folder = TemporaryFolder()
    let error = #expect(throws: StreamError.self) { try TLSCertificate.certificates(inFile: folder.path) }
    #expect(error == .posix(EISDIR, "read \(folder.path)"))
    let zero = #expect(throws: StreamError.self) {
      try TLSCertificate.certificates(inFile: TestCertificates.shared.certificate("root") + "\0x")
    }
    #expect(zero?.code == EINVAL)
  }

  @Test("a pipe is refused, and not waited for")
  func pipe() throws {
    let folder = TemporaryFolder()
    let path = "\(folder.path)/pipe"
    try #require(mkfifo(path, 0o600) == 0)
    expectFault("this is no regular file", operation: "read \(path)") {
      try TLSCertificate.certificates(inFile: path)
    }
  }

  @Test("an empty file and one that is too large say so")
  func sizes() throws {
    let folder = TemporaryFolder()
    let empty = try folder.write([], to: "empty.pem")
    expectFault("this is empty", operation: "read \(empty)") {
      try TLSCertificate.certificates(inFile: empty)
    }
    let large = try folder.write([], to: "large.pem")
    // Of zeros that take no room.
    try #require(truncate(large, 16 * 1_048_576 + 1) == 0)
    expectFault("the file is larger than 16 MiB", operation: "read \(large)") {
      try TLSCertificate.certificates(inFile: large)
    }
  }

  @Test("reading leaves no descriptor, whatever comes of it")
  func descriptors() async throws {
    let path = TestCertificates.shared.certificate("root")
    await #expect(processExitsWith: .success) { [path = path as String] in
      func open() -> Int32 {
        let next = dup(0)
        close(next)
        return next
      }
      _ = try? TLSCertificate.certificates(inFile: path)
      let before = open()
      _ = try TLSCertificate.certificates(inFile: path)
      for wrong in ["/no/such/x.pem", "/tmp", "/dev/null"] {
        _ = try? TLSCertificate.certificates(inFile: wrong)
      }
      precondition(open() == before)
    }
  }
}

#endif
