// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.
// Certificates and keys for tests, made anew in each process by Scripts/make-test-certificates, which lists them, and
// removed when the process ends.
import Glibc

/// One folder of certificates and keys.
final class TestCertificates: Sendable {
  /// Made when first asked for. Tests that need it cannot do without it, so the process ends if that fails.
  static let shared = TestCertificates()

  /// The passphrase of those files that have one.
  static let passphrase = "secret"

  /// Where the files are.
  let folder: String

  /// The path of the certificate of `name`, PEM.
  func certificate(_ name: String) -> String { file("\(name).pem") }

  /// The path of the key of `name`, PEM without a passphrase.
  func key(_ name: String) -> String { file("\(name).key") }

  /// The path of a file by its whole name.
  func file(_ name: String) -> String {
    let path = "\(folder)/\(name)"
    precondition(access(path, R_OK) == 0, "Scripts/make-test-certificates makes no \(name)")
    return path
  }

  /// The bytes of a file.
  func bytes(_ name: String) -> [UInt8] {
    let fd = open(file(name), O_RDONLY | O_CLOEXEC)
    defer { close(fd) }
    return Self.readAll(fd)
  }

  private init() {
    var template = Array("/tmp/test-certificates-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil, "mkdtemp: \(errno)")
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let (status, said) = Self.run(["/bin/bash", Self.script(), folder])
    precondition(status == 0, said)
    atexit { TestCertificates.shared.remove() }
  }

  private func remove() { _ = Self.run(["/bin/rm", "-r", folder]) }

  /// The script, in the folder above that has it: this file can be a link in the tests of another module.
  private static func script() -> String {
    var folders = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    while folders.count > 1 {
      folders.removeLast()
      let path = folders.joined(separator: "/") + "/Scripts/make-test-certificates"
      if access(path, X_OK) == 0 { return path }
    }
    preconditionFailure("no Scripts/make-test-certificates above \(#filePath)")
  }

  /// Runs a program to its end: its status, as of `waitpid`, and what it printed.
  private static func run(_ words: [String]) -> (status: Int32, printed: String) {
    var ends: [Int32] = [0, 0]
    precondition(pipe(&ends) == 0, "pipe: \(errno)")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
    var texts = words.map { strdup($0) } + [nil]
    defer { texts.forEach { free($0) } }
    var child = pid_t()
    let code = posix_spawn(&child, words[0], &actions, nil, &texts, environ)
    close(ends[1])
    precondition(code == 0, "\(words[0]) does not start: \(code)")
    let printed = readAll(ends[0])
    close(ends[0])
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    return (status, String(decoding: printed, as: UTF8.self))
  }

  private static func readAll(_ fd: Int32) -> [UInt8] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4_096)
    while case let count = read(fd, &piece, piece.count), count > 0 { bytes += piece[..<count] }
    return bytes
  }
}
