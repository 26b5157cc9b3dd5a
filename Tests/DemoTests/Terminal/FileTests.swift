// SocketStreams. Licensed under the Apache License 2.0; see LICENSE.

import Glibc
import SocketStreams
import Testing

@testable import Demo

@Suite("Files", .timeLimit(.minutes(2)))
struct FileTests {
  private let folder = TemporaryFolder()

  private func errorCode<T>(_ body: () throws(OutputFailure) -> T) -> Int32? {
    do {
      _ = try body()
      return nil
    } catch {
      if case .failed(let code) = error { return code }
      return 0
    }
  }

  @Test("a file is read piece by piece, from any place, to its end")
  func read() throws {
    let path = folder.file("in")
    try TextFile.write("0123456789", to: path)
    let file = try InputFile(path)
    #expect(file.count == 10 && file.isSeekable)
    guard case .bytes(let all) = file.read(at: 0), case .bytes(let rest) = file.read(at: 7) else {
      Issue.record("no bytes")
      return
    }
    #expect(all == Array("0123456789".utf8) && rest == Array("789".utf8))
    guard case .end = file.read(at: 10) else {
      Issue.record("no end")
      return
    }
  }

  @Test("what cannot be read says why")
  func unreadable() {
    #expect(errorCode { () throws(OutputFailure) in try InputFile(folder.file("none")) } == ENOENT)
    #expect(errorCode { () throws(OutputFailure) in try InputFile(folder.path) } == EISDIR)
    #expect(errorCode { () throws(OutputFailure) in try OutputFile("/no/such/folder/x") } == ENOENT)
    #expect(errorCode { () throws(OutputFailure) in try OutputFile(folder.path) } == EISDIR)
  }

  @Test("a file is replaced by the first bytes, and is as long as they are")
  func replaced() throws {
    let path = folder.file("out")
    try TextFile.write("much longer than before", to: path)
    let file = try OutputFile(path)
    #expect(try TextFile.read(path) == "much longer than before")
    try file.write(Array("a".utf8))
    try file.write(Array("b".utf8))
    try file.finish(keep: true)
    #expect(try TextFile.read(path) == "ab")
  }

  @Test("without bytes a new file is there only if it is to be, and an old one is emptied only then")
  func empty() throws {
    let path = folder.file("new")
    try OutputFile(path).finish(keep: false)
    #expect(access(path, F_OK) != 0)
    try OutputFile(path).finish(keep: true)
    #expect(try TextFile.read(path) == "")
    try TextFile.write("old", to: path)
    try OutputFile(path).finish(keep: false)
    #expect(try TextFile.read(path) == "old")
    try OutputFile(path).finish(keep: true)
    #expect(try TextFile.read(path) == "")
  }

  @Test("a full device is an error with its code, and a pipe without a reader is none to speak of")
  func failures() throws {
    let full = try OutputFile("/dev/full")
    #expect(errorCode { () throws(OutputFailure) in try full.write([1]) } == ENOSPC)
    #expect(OutputFailure.failed(ENOSPC).exitCode == .localFile)
    #expect(OutputFailure.readerGone.exitCode == .outputGone)
  }

  @Test(
    "the name on the progress line has no folders",
    arguments: [("/a/b.tar", "b.tar"), ("b", "b"), ("/", "/")])
  func names(_ path: String, _ name: String) { #expect(path.withoutFolders == name) }
}

@Suite("Failures", .timeLimit(.minutes(2)))
struct FailureTests {
  @Test(
    "a stream's failure has one line and one exit code",
    arguments: [
      (
        StreamError.posix(ECONNREFUSED, "connect"), Phase.connect,
        "POSIX 111 Connection refused (h:1, connect)", 2
      ),
      (.posix(ETIMEDOUT, "connect"), .connect, "POSIX 110 Connection timed out (h:1, connect)", 6),
      (.posix(ECONNRESET, "read"), .read, "POSIX 104 Connection reset by peer (h:1, read)", 3),
      (.posix(EPIPE, "write"), .write, "POSIX 32 Broken pipe (h:1, write)", 3),
      (.posix(EADDRINUSE, "bind"), .listen, "POSIX 98 Address already in use (h:1, listen)", 2),
      (
        StreamError(.resolver, code: -2, operation: "resolve h"), .connect,
        "resolver -2 Name or service not known (h:1, resolve)", 2
      ),
    ] as [(StreamError, Phase, String, Int32)])
  func lines(_ error: StreamError, _ phase: Phase, _ line: String, _ code: Int32) {
    let failure = Failure(error, during: phase)
    #expect(failure.line(for: "h:1") == line)
    #expect(failure.exitCode.rawValue == code)
  }

  @Test("a time limit and a file's failure say more")
  func notes() {
    let late = Failure.timeLimit(during: .write, note: "taken 1 of 2 bytes")
    #expect(late.line(for: "h:1") == "POSIX 110 Connection timed out (h:1, write): taken 1 of 2 bytes")
    #expect(late.exitCode == .timeLimit)
    let file = Failure.file(ENOENT, "/x", during: .read)
    #expect(file.line(for: "h:1") == "POSIX 2 No such file or directory (h:1, read): /x")
    #expect(file.exitCode == .localFile)
  }

  @Test("the summary has the attempts")
  func json() throws {
    let address = try #require(SocketAddress(ip: "127.0.0.1", port: 9))
    let attempts = [ConnectAttempt(address: address, code: ECONNREFUSED)]
    let error = StreamError(.posix, code: ECONNREFUSED, operation: "connect", attempts: attempts)
    #expect(
      Failure(error, during: .connect).json.text
        == #"{"domain":"POSIX","code":111,"reason":"Connection refused","phase":"connect","#
        + #""attempts":["127.0.0.1:9 (Connection refused)"]}"#)
  }
}
